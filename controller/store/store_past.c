/* SPDX-License-Identifier: Apache-2.0 */
/* Past runs, for replaying another policy; and a host's last test. */
#include <stdlib.h>

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"

static const char *pooled(struct pool *pool, const char *text)
{
	return text ? pool_text(pool, text, strlen(text)) : NULL;
}

struct past_reader {
	struct store *store;
	struct pool *pool;
	struct store_past *rows;
	size_t n_items;
	int n;
	struct err *err;
};

static int read_past(void *context, const void *p)
{
	const struct db_past_row *row = p;
	struct past_reader *reader = context;
	struct verdict v = { .borrows = true };
	int r = 0;

	/* Most runs passed and have no items. */
	if (row->verdict != VERDICT_PASS)
		r = store_read_items(reader->store, row->id, 0, reader->pool, &v, reader->err);
	if (r < 0) {
		free(v.items);
		return r;
	}
	reader->rows[reader->n++] = (struct store_past){
		.id = row->id,
		.node = pooled(reader->pool, row->node),
		.sku = pooled(reader->pool, row->sku),
		.profile = row->profile ? pooled(reader->pool, row->profile) : "",
		.seen_us = row->seen_us,
		.items = v.items,
		.n_items = v.n_items,
	};
	reader->n_items += v.n_items;
	return reader->n_items >= STORE_PAST_ITEMS;
}

int store_past(struct store *s, int64_t *after, uint64_t since_us, struct pool *pool,
	       struct store_past *ret_rows, struct err *err)
{
	struct past_reader reader = { s, pool, ret_rows, 0, 0, err };
	struct db_batch b = store_ask(s, err);
	struct db_past_last_row last = { 0 };

	(void)db_one(&b, past_last, &last);
	db_each(&b, past, read_past, &reader, .after = *after, .window = STORE_PAST_WINDOW,
		.since_us = since_us, .limit = STORE_PAST_MAX);
	if (db_end(&b) < 0) {
		while (reader.n > 0)
			free(ret_rows[--reader.n].items);
		return db_end(&b);
	}
	*after = reader.n == STORE_PAST_MAX || reader.n_items >= STORE_PAST_ITEMS
			 ? ret_rows[reader.n - 1].id
			 : MAX(*after, MIN(last.id, *after + STORE_PAST_WINDOW));
	return reader.n;
}

static int within(int64_t value, int most)
{
	return (int)MIN(MAX(value, (int64_t)0), (int64_t)most);
}

static int read_tested(void *context, const void *p)
{
	const struct db_node_tested_row *row = p;
	struct store_tested *ret = context;

	*ret = (struct store_tested){
		.boot = xstrdup(row->boot_id),
		.at_us = row->seen_us,
		.level = within(row->verdict, VERDICT_FAIL),
		.profile = xstrdup(row->profile),
		.worst = row->check_name
				 ? xasprintf("%s %s", row->check_name,
					     verdict_source_names[within(row->source, SOURCE_SELF)])
				 : NULL,
	};
	return 1;
}

int store_tested(struct store *s, const char *node, struct store_tested *ret, struct err *err)
{
	struct db_batch b = store_ask(s, err);

	*ret = (struct store_tested){ 0 };
	db_each(&b, node_tested, read_tested, ret, .node = node);
	return db_end(&b);
}

void store_tested_release(struct store_tested *t)
{
	free(t->boot);
	free(t->profile);
	free(t->worst);
	*t = (struct store_tested){ 0 };
}
