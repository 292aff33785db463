/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of the store as JSON, a page at a time, and single items. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"
#include "lib/sys/clock_pair.h"

json_t *store_json_text(const char *text)
{
	return text ? json_string(text) : json_null();
}

int store_within(int64_t value, int most)
{
	return value < 0 || value > most ? most : (int)value;
}

json_t *store_json_level(int64_t level)
{
	return json_string(verdict_level_names[store_within(level, VERDICT_FAIL)]);
}

static json_t *env_of(const char *text)
{
	json_t *env = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;

	return env ? env : json_object();
}

static json_t *node_of_row(const void *p, uint64_t now_us)
{
	const struct db_nodes_row *n = p;
	const uint64_t age_us = now_us > n->seen_us ? now_us - n->seen_us : 0;
	const bool stale = store_is_stale(n->seen_us, now_us);

	return json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:f, s:b, s:o, s:o, s:o, s:o, "
		"s:b}",
		"node", store_json_text(n->node), "verdict",
		stale ? json_string("inconclusive") : store_json_level(n->verdict), "sentence",
		store_json_text(n->sentence), "sku", store_json_text(n->sku), "profile",
		store_json_text(n->profile), "time", store_json_text(n->time), "agent",
		store_json_text(n->agent), "boot_id", store_json_text(n->boot_id), "seq",
		(json_int_t)n->seq, "seen", json_stamp(n->seen_us), "age_s",
		(double)(age_us / USEC_PER_MSEC) / 1e3, "stale", stale, "last_verdict",
		store_json_level(n->verdict), "first_seen", json_stamp(n->first_us), "topology",
		store_json_text(n->topology), "env", env_of(n->env), "unverified",
		n->unverified != 0);
}

static json_t *verdict_of_row(const void *p, uint64_t now_us UNUSED)
{
	const struct db_reports_row *r = p;

	return json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "boot_id",
			 store_json_text(r->boot_id), "seq", (json_int_t)r->seq, "time",
			 store_json_text(r->time), "seen", json_stamp(r->seen_us), "profile",
			 store_json_text(r->profile), "verdict", store_json_level(r->verdict),
			 "sentence", store_json_text(r->sentence));
}

/* --- pages --- */

int listing_row(void *context, const void *row)
{
	struct listing *list = context;

	if (!list->items)
		list->items = json_array();
	list->more = json_array_size(list->items) == list->limit;
	if (list->more)
		return 1;
	free(list->next);
	list->next = list->by_name ? xstrdup(*(const char *const *)row)
				   : xasprintf("%" PRId64, *(const int64_t *)row);
	(void)json_array_append_new(list->items, list->item(row, list->now_us));
	return 0;
}

int listing_end(struct listing *list, const struct db_batch *b, struct store_page *ret)
{
	CLEANUP(json_freep) json_t *items = list->items ? TAKE(list->items) : json_array();
	CLEANUP(freep) char *next = TAKE(list->next);

	if (db_end(b) < 0)
		return db_end(b);
	*ret = (struct store_page){ .items = TAKE(items), .next = list->more ? TAKE(next) : NULL };
	return 0;
}

int64_t store_cursor_number(const struct store_range *range)
{
	char *end = NULL;
	long long value;

	if (!range->cursor)
		return INT64_MAX;
	errno = 0;
	value = strtoll(range->cursor, &end, 10);
	return errno || *end ? INT64_MAX : value;
}

int store_nodes(struct store *s, const struct store_range *range, uint64_t now_us,
		struct store_page *ret, struct err *err)
{
	struct listing list = {
		.item = node_of_row, .limit = range->limit, .by_name = true, .now_us = now_us
	};
	struct db_batch b = store_ask(s, err);

	db_each(&b, nodes, listing_row, &list, .after = range->cursor ? range->cursor : "",
		.limit = range->limit + 1);
	return listing_end(&list, &b, ret);
}

struct node_reader {
	uint64_t now_us;
	json_t *node; /* NULL: none */
};

static int read_node(void *context, const void *row)
{
	struct node_reader *reader = context;

	reader->node = node_of_row(row, reader->now_us);
	return 1;
}

int store_node(struct store *s, const char *node, uint64_t now_us, json_t **ret_node,
	       struct err *err)
{
	struct node_reader reader = { .now_us = now_us };
	struct db_batch b = store_ask(s, err);

	db_each(&b, node, read_node, &reader, .node = node);
	if (db_end(&b) < 0)
		return db_end(&b);
	if (!reader.node)
		return err_set(err, ENOENT, "unknown host '%.80s'", node);
	*ret_node = reader.node;
	return 0;
}

int store_verdicts(struct store *s, const char *node, const struct store_range *range,
		   struct store_page *ret, struct err *err)
{
	struct listing list = { .item = verdict_of_row, .limit = range->limit };
	struct db_batch b = store_ask(s, err);

	db_each(&b, reports, listing_row, &list, .node = node, .before = store_cursor_number(range),
		.limit = range->limit + 1);
	return listing_end(&list, &b, ret);
}

struct body_reader {
	struct store_body *bodies;
	size_t n;
};

static int read_body(void *context, const void *p)
{
	const struct db_bodies_row *row = p;
	struct body_reader *reader = context;
	char *bytes = xcalloc(1, row->body.length + 1);

	if (row->body.length)
		memcpy(bytes, row->body.bytes, row->body.length);
	reader->bodies[reader->n++] =
		(struct store_body){ (int)row->coding, bytes, row->body.length };
	return 0;
}

int store_bodies(struct store *s, const char *node, struct store_body *ret_bodies, size_t max,
		 struct err *err)
{
	struct body_reader reader = { .bodies = ret_bodies };
	struct db_batch b = store_ask(s, err);

	db_each(&b, bodies, read_body, &reader, .node = node, .limit = max);
	if (db_end(&b) == 0)
		return (int)reader.n;
	while (reader.n > 0)
		free(ret_bodies[--reader.n].bytes);
	return db_end(&b);
}

static json_t *env_of_row(const void *p, uint64_t now_us UNUSED)
{
	const struct db_envs_row *row = p;

	return json_pack("{s:o, s:o, s:o}", "node", store_json_text(row->node), "sku",
			 store_json_text(row->sku), "env", env_of(row->env));
}

int store_envs(struct store *s, const struct store_range *range, uint64_t now_us,
	       struct store_page *ret, struct err *err)
{
	struct listing list = { .item = env_of_row, .limit = range->limit, .by_name = true };
	struct db_batch b = store_ask(s, err);

	db_each(&b, envs, listing_row, &list, .since_us = (int64_t)(now_us - STORE_STALE_US),
		.until_us = (int64_t)(now_us + CLOCK_PAIR_FUTURE_US),
		.after = range->cursor ? range->cursor : "", .limit = range->limit + 1);
	return listing_end(&list, &b, ret);
}
