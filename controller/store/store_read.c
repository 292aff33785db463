/* SPDX-License-Identifier: Apache-2.0 */
/* Queries of the judge and the metrics. */
#include <stdlib.h>

#include "controller/store/coverage_codec.h"
#include "controller/store/sql/statements.h"
#include "controller/store/standing_codec.h"
#include "controller/store/store_sql.h"
#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/sys/clock_pair.h"

enum { ITEMS_FIRST = 16 }; /* initial room, doubled as needed */

static char *pooled(struct pool *pool, const char *text)
{
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

static struct verdict_item item_of_row(const struct db_items_row *row, struct pool *pool)
{
	struct verdict_item item = {
		.check = pooled(pool, row->check_name),
		.subject = pooled(pool, row->subject),
		.level = store_within(row->level, VERDICT_FAIL),
		.value = row->value,
		.unit = pooled(pool, row->unit),
		.expected = row->expected,
		.floor = row->floor,
		.source = store_within(row->source, SOURCE_SELF),
		.n = row->n,
		.fatal = row->fatal != 0,
		.sentence = pooled(pool, row->sentence),
		.link = pooled(pool, row->link),
	};

	store_set_facts(&item, row->facts);
	return item;
}

/* Set profile and time of the run in each of its items. */
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

struct item_reader {
	struct pool *pool;
	struct verdict *verdict;
	size_t room, more;
};

static int read_item(void *context, const void *row)
{
	struct item_reader *reader = context;
	struct verdict *v = reader->verdict;

	if (v->n_items == reader->room) {
		reader->room *= 2;
		v->items = xrealloc(v->items, reader->room + reader->more, sizeof(*v->items));
	}
	v->items[v->n_items++] = item_of_row(row, reader->pool);
	return v->n_items == STORE_ITEMS_MAX;
}

int store_read_items(struct store *s, int64_t report, size_t more, struct pool *pool,
		     struct verdict *v, struct err *err)
{
	struct item_reader reader = { pool, v, ITEMS_FIRST, more };
	struct db_batch b = store_ask(s, err);

	v->items = xrealloc(NULL, reader.room + more, sizeof(*v->items));
	db_each(&b, items, read_item, &reader, .report = report);
	return db_end(&b);
}

struct run_reader {
	struct store *store;
	const char *node;
	struct pool *pool;
	struct verdict *runs;
	size_t n;
	struct err *err;
};

static int read_run(void *context, const void *p)
{
	const struct db_runs_row *row = p;
	struct run_reader *reader = context;
	struct verdict v = {
		.node = xstrdup(reader->node),
		.profile = xstrdup(row->profile),
		.time = xstrdup(row->time),
		.level = store_within(row->verdict, VERDICT_FAIL),
		.seq = (uint64_t)row->report,
		.borrows = true,
	};
	int r = store_read_items(reader->store, row->report, coverage_codec_count(row->measured),
				 reader->pool, &v, reader->err);

	if (r < 0) {
		verdict_release(&v);
		return r;
	}
	coverage_codec_decode(row->measured, reader->pool, &v);
	mark_items(&v, reader->pool);
	reader->runs[reader->n++] = v;
	if (row->kept)
		reader->n += standing_codec_decode(row->kept, reader->node, reader->pool,
						   &reader->runs[reader->n], STORE_KEPT_MAX);
	return 0;
}

int store_runs(struct store *s, const char *node, struct pool *pool, struct verdict *ret_runs,
	       struct err *err)
{
	struct run_reader reader = { s, node, pool, ret_runs, 0, err };
	struct db_batch b = store_ask(s, err);

	db_each(&b, runs, read_run, &reader, .node = node, .limit = STORE_PROFILES_MAX);
	if (db_end(&b) == 0)
		return (int)reader.n;
	while (reader.n > 0)
		verdict_release(&ret_runs[--reader.n]);
	return db_end(&b);
}

struct whole_reader {
	struct pool *pool;
	struct store_whole *ret;
};

static int read_whole(void *context, const void *p)
{
	const struct db_node_whole_row *row = p;
	struct whole_reader *reader = context;
	struct verdict v = { .items = xcalloc(coverage_codec_count(row->measured) + 1,
					      sizeof(*v.items)) };

	coverage_codec_decode(row->measured, reader->pool, &v);
	*reader->ret = (struct store_whole){ .boot = pooled(reader->pool, row->boot_id),
					     .profile = pooled(reader->pool, row->profile),
					     .at_us = row->seen_us,
					     .level = store_within(row->verdict, VERDICT_FAIL),
					     .items = v.items,
					     .n_items = v.n_items };
	return 1;
}

int store_whole(struct store *s, const char *node, struct pool *pool, struct store_whole *ret,
		struct err *err)
{
	struct whole_reader reader = { pool, ret };
	struct db_batch b = store_ask(s, err);

	*ret = (struct store_whole){ .boot = NULL };
	db_each(&b, node_whole, read_whole, &reader, .node = node);
	return db_end(&b);
}

int store_count_nodes(struct store *s, uint64_t *ret_count, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_count_nodes_row row;

	if (db_one(&b, count_nodes, &row))
		*ret_count = row.n;
	return db_end(&b);
}

int store_has_node(struct store *s, const char *node, bool *ret_known, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	const bool known = db_any(&b, node_find, .node = node);

	if (db_end(&b) == 0)
		*ret_known = known;
	return db_end(&b);
}

static int count_verdict(void *context, const void *p)
{
	const struct db_count_verdicts_row *row = p;
	uint64_t *counts = context;

	counts[store_within(row->verdict, VERDICT_FAIL)] += row->n;
	return 0;
}

int store_count_verdicts(struct store *s, uint64_t now_us, uint64_t ret_counts[static 4],
			 struct err *err)
{
	struct db_batch b = store_ask(s, err);
	uint64_t counts[4] = { 0 };

	db_each(&b, count_verdicts, count_verdict, counts,
		.since_us = (int64_t)now_us - (int64_t)STORE_STALE_US,
		.until_us = (int64_t)(now_us + CLOCK_PAIR_FUTURE_US));
	if (db_end(&b) == 0)
		memcpy(ret_counts, counts, sizeof(counts));
	return db_end(&b);
}
