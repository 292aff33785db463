/* SPDX-License-Identifier: Apache-2.0 */
/* What the judge and the metrics ask of the store. */
#include <stdlib.h>

#include "controller/store/kept_list.h"
#include "controller/store/run_list.h"
#include "controller/store/store_sql.h"
#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/sys/moment.h"

enum { ITEM_LEVEL_MAX = VERDICT_FAIL, ITEM_SOURCE_MAX = SOURCE_SELF, ITEMS_FIRST = 16 };

static int in_range(sqlite3_stmt *st, int at, int max)
{
	int value = sqlite3_column_int(st, at);

	return value < 0 || value > max ? max : value;
}

static char *pool_column(struct pool *pool, sqlite3_stmt *st, int at)
{
	const char *text = column_text(st, at);

	return text ? pool_text(pool, text, strlen(text)) : NULL;
}

enum { FACTS_LOW = 8, FACTS_USUAL = 16, FACTS_IMPOSSIBLE = 18, FACTS_THERE = 19 };

int64_t store_facts(const struct verdict_item *item)
{
	return (int64_t)(item->known_by & 0xff) | (int64_t)(item->low_by & 0xff) << FACTS_LOW |
	       (int64_t)(item->usual & 3) << FACTS_USUAL |
	       (int64_t)item->impossible << FACTS_IMPOSSIBLE | INT64_C(1) << FACTS_THERE;
}

void store_set_facts(struct verdict_item *item, int64_t facts)
{
	item->bare = !(facts >> FACTS_THERE & 1);
	if (item->bare)
		return;
	item->known_by = (unsigned)(facts & 0xff);
	item->low_by = (unsigned)(facts >> FACTS_LOW & 0xff);
	item->usual = MIN((int)(facts >> FACTS_USUAL & 3), (int)USUAL_DROPPED);
	item->impossible = facts >> FACTS_IMPOSSIBLE & 1;
}

static struct verdict_item item_of_row(sqlite3_stmt *st, struct pool *pool)
{
	struct verdict_item item = {
		.check = pool_column(pool, st, 0),
		.subject = pool_column(pool, st, 1),
		.level = in_range(st, 2, ITEM_LEVEL_MAX),
		.value = column_real(st, 3),
		.unit = pool_column(pool, st, 4),
		.expected = column_real(st, 5),
		.floor = column_real(st, 6),
		.source = in_range(st, 7, ITEM_SOURCE_MAX),
		.n = (uint64_t)sqlite3_column_int64(st, 8),
		.fatal = sqlite3_column_int(st, 9) != 0,
		.sentence = pool_column(pool, st, 10),
		.link = pool_column(pool, st, 11),
	};

	store_set_facts(&item, sqlite3_column_int64(st, 12));
	return item;
}

/* Profile and time of the run go to each of its items. */
static void mark_items(struct verdict *v, struct pool *pool)
{
	char *profile = pool_text(pool, v->profile, strlen(v->profile));
	char *time = v->time ? pool_text(pool, v->time, strlen(v->time)) : NULL;
	size_t i;

	for (i = 0; i < v->n_items; i++) {
		v->items[i].profile = profile;
		v->items[i].time = time;
	}
}

int store_read_items(struct store *s, int64_t report, size_t more, struct pool *pool,
		     struct verdict *v, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_RUN_ITEMS);
	size_t room = ITEMS_FIRST;
	int r;

	bind_int(st, 1, report);
	v->items = xrealloc(NULL, room + more, sizeof(*v->items));
	while ((r = store_step_row(s, st, "read items", err)) == 1 && v->n_items < STORE_ITEMS_MAX) {
		if (v->n_items == room) {
			room *= 2;
			v->items = xrealloc(v->items, room + more, sizeof(*v->items));
		}
		v->items[v->n_items++] = item_of_row(st, pool);
	}
	return r < 0 ? r : 0;
}

static int read_run(struct store *s, sqlite3_stmt *run, const char *node, struct pool *pool,
		    struct verdict *ret, struct err *err)
{
	const char *measured = column_text(run, 3);
	struct verdict v = {
		.node = xstrdup(node),
		.profile = xstrdup(column_text(run, 0)),
		.time = xstrdup(column_text(run, 1)),
		.level = in_range(run, 2, ITEM_LEVEL_MAX),
		.seq = (uint64_t)sqlite3_column_int64(run, 4),
		.borrows = true,
	};
	int r;

	r = store_read_items(s, sqlite3_column_int64(run, 4), run_list_count(measured), pool, &v,
			     err);
	run_list_decode(measured, pool, &v);
	mark_items(&v, pool);
	if (r < 0)
		verdict_release(&v);
	else
		*ret = v;
	return r;
}

int store_runs(struct store *s, const char *node, struct pool *pool, struct verdict *ret_runs,
	       struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_RUNS);
	size_t n = 0;
	int r;

	bind_text(st, 1, node);
	bind_int(st, 2, STORE_PROFILES_MAX);
	while ((r = store_step_row(s, st, "read runs", err)) == 1) {
		const char *kept = column_text(st, 5);

		r = read_run(s, st, node, pool, &ret_runs[n], err);
		if (r < 0)
			break;
		n++;
		if (kept)
			n += kept_list_decode(kept, node, pool, &ret_runs[n], STORE_KEPT_MAX);
	}
	if (r == 0)
		return (int)n;
	while (n > 0)
		verdict_release(&ret_runs[--n]);
	return r;
}

int store_count_nodes(struct store *s, uint64_t *ret_count, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_COUNT_NODES);
	int r = store_step_row(s, st, "count hosts", err);

	if (r == 1)
		*ret_count = (uint64_t)sqlite3_column_int64(st, 0);
	return r < 0 ? r : 0;
}

int store_has_node(struct store *s, const char *node, bool *ret_known, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_NODE_FIND);
	int r;

	bind_text(st, 1, node);
	r = store_step_row(s, st, "find host", err);
	if (r >= 0)
		*ret_known = r == 1;
	return r < 0 ? r : 0;
}

int store_count_verdicts(struct store *s, uint64_t now_us, uint64_t ret_counts[static 4],
			 struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_COUNT_VERDICTS);
	uint64_t counts[4] = { 0 };
	int r;

	bind_int(st, 1, (int64_t)now_us - (int64_t)STORE_STALE_US);
	bind_int(st, 2, (int64_t)(now_us + MOMENT_FUTURE_US));
	while ((r = store_step_row(s, st, "count verdicts", err)) == 1)
		counts[in_range(st, 0, ITEM_LEVEL_MAX)] += (uint64_t)sqlite3_column_int64(st, 1);
	if (r == 0)
		memcpy(ret_counts, counts, sizeof(counts));
	return r;
}
