/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of the past, for who wants to know what another policy had made of them; a host's last test. */
#include <stdlib.h>

#include "controller/store/store_sql.h"
#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"

static int last_report(struct store *s, int64_t *ret_id, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_PAST_LAST);
	int r = store_step_row(s, st, "find the last report", err);

	if (r == 1)
		*ret_id = sqlite3_column_int64(st, 0);
	return r < 0 ? r : 0;
}

static const char *pooled(struct pool *pool, sqlite3_stmt *st, int at)
{
	const char *text = column_text(st, at);

	return text ? pool_text(pool, text, strlen(text)) : NULL;
}

static int read_past(struct store *s, sqlite3_stmt *st, struct pool *pool, struct store_past *ret,
		     struct err *err)
{
	struct verdict v = { .borrows = true };
	struct store_past row = {
		.id = sqlite3_column_int64(st, 0),
		.node = pooled(pool, st, 1),
		.sku = pooled(pool, st, 2),
		.profile = pooled(pool, st, 3),
		.seen_us = (uint64_t)sqlite3_column_int64(st, 4),
	};
	int r = 0;

	/* Of most runs all is well: they have no items. */
	if (sqlite3_column_int(st, 5) != VERDICT_PASS)
		r = store_read_items(s, row.id, 0, pool, &v, err);
	if (r < 0) {
		free(v.items);
		return r;
	}
	row.profile = row.profile ? row.profile : "";
	row.items = v.items;
	row.n_items = v.n_items;
	*ret = row;
	return 0;
}

int store_past(struct store *s, int64_t *after, uint64_t since_us, struct pool *pool,
	       struct store_past *ret_rows, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_PAST);
	int64_t last = 0;
	size_t n_items = 0;
	int n = 0, r = last_report(s, &last, err);

	if (r < 0)
		return r;
	bind_int(st, 1, *after);
	bind_int(st, 2, STORE_PAST_WINDOW);
	bind_int(st, 3, (int64_t)since_us);
	bind_int(st, 4, STORE_PAST_MAX);
	while (n_items < STORE_PAST_ITEMS &&
	       (r = store_step_row(s, st, "read the past", err)) == 1) {
		r = read_past(s, st, pool, &ret_rows[n], err);
		if (r < 0)
			break;
		n_items += ret_rows[n++].n_items;
	}
	if (r < 0) {
		while (n > 0)
			free(ret_rows[--n].items);
		return r;
	}
	*after = n == STORE_PAST_MAX || n_items >= STORE_PAST_ITEMS
			 ? ret_rows[n - 1].id
			 : MAX(*after, MIN(last, *after + STORE_PAST_WINDOW));
	return n;
}

static int within(int value, int most)
{
	return MIN(MAX(value, 0), most);
}

int store_tested(struct store *s, const char *node, struct store_tested *ret, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_RUN_ACTIVE);
	const char *check;
	int r;

	*ret = (struct store_tested){ 0 };
	bind_text(st, 1, node);
	r = store_step_row(s, st, "find the last test", err);
	if (r <= 0)
		return r;
	check = column_text(st, 4);
	*ret = (struct store_tested){
		.boot = xstrdup(column_text(st, 0)),
		.at_us = (uint64_t)sqlite3_column_int64(st, 1),
		.level = within(sqlite3_column_int(st, 2), VERDICT_FAIL),
		.profile = xstrdup(column_text(st, 3)),
		.worst = check ? xasprintf("%s %s", check,
					   verdict_source_names[within(sqlite3_column_int(st, 5),
								       SOURCE_SELF)])
			       : NULL,
	};
	return 0;
}

void store_tested_release(struct store_tested *t)
{
	free(t->boot);
	free(t->profile);
	free(t->worst);
	*t = (struct store_tested){ 0 };
}
