/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of the store as JSON, a page at a time, and single things. */
#include <errno.h>
#include <stdlib.h>

#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/sys/moment.h"

json_t *column_json_text(sqlite3_stmt *st, int at)
{
	const char *text = column_text(st, at);

	return text ? json_string(text) : json_null();
}

static json_t *stamp(uint64_t us)
{
	char text[CLOCK_STAMP_SIZE];

	clock_stamp(us, text);
	return json_string(text);
}

json_t *column_json_stamp(sqlite3_stmt *st, int at)
{
	if (sqlite3_column_type(st, at) == SQLITE_NULL)
		return json_null();
	return stamp((uint64_t)sqlite3_column_int64(st, at));
}

json_t *column_json_level(sqlite3_stmt *st, int at)
{
	int value = sqlite3_column_int(st, at);

	return json_string(
		verdict_level_names[value < 0 || value > VERDICT_FAIL ? VERDICT_FAIL : value]);
}

static json_t *env_of(sqlite3_stmt *st, int at)
{
	const char *text = column_text(st, at);
	json_t *env = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;

	return env ? env : json_object();
}

/* Columns of SQL_NODES and SQL_NODE. */
static json_t *node_of_row(sqlite3_stmt *st, uint64_t now_us)
{
	uint64_t seen_us = (uint64_t)sqlite3_column_int64(st, 8);
	uint64_t age_us = now_us > seen_us ? now_us - seen_us : 0;
	/* Measured tomorrow: the controller's own clock was set back since. */
	bool stale = age_us > STORE_STALE_US || seen_us > now_us + MOMENT_FUTURE_US;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:f, s:b, s:o, s:o,"
			 " s:o, s:o}",
			 "node", column_json_text(st, 0), "verdict",
			 stale ? json_string("inconclusive") : column_json_level(st, 1), "sentence",
			 column_json_text(st, 2), "sku", column_json_text(st, 3), "profile",
			 column_json_text(st, 4), "time", column_json_text(st, 5), "agent",
			 column_json_text(st, 6), "boot_id", column_json_text(st, 7), "seq",
			 (json_int_t)sqlite3_column_int64(st, 9), "seen", stamp(seen_us), "age_s",
			 (double)(age_us / USEC_PER_MSEC) / 1e3, "stale", stale, "last_verdict",
			 column_json_level(st, 1), "first_seen", column_json_stamp(st, 10),
			 "topology", column_json_text(st, 11), "env", env_of(st, 12));
}

/* Columns of SQL_REPORTS. */
static json_t *verdict_of_row(sqlite3_stmt *st, uint64_t now_us)
{
	(void)now_us;
	return json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "boot_id", column_json_text(st, 1),
			 "seq", (json_int_t)sqlite3_column_int64(st, 2), "time",
			 column_json_text(st, 3), "seen", column_json_stamp(st, 4), "profile",
			 column_json_text(st, 5), "verdict", column_json_level(st, 6), "sentence",
			 column_json_text(st, 7));
}

int store_read_page(const struct listing *list, struct store_page *ret, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = list->st;
	CLEANUP(json_freep) json_t *items = json_array();
	CLEANUP(freep) char *next = NULL;
	int r;

	while ((r = store_step_row(list->s, st, "read list", err)) == 1) {
		if (json_array_size(items) == list->limit)
			break;
		free(next);
		next = xstrdup(column_text(st, list->cursor_at));
		(void)json_array_append_new(items, list->item(st, list->now_us));
	}
	if (r < 0)
		return r;
	*ret = (struct store_page){ .items = TAKE(items), .next = r == 1 ? TAKE(next) : NULL };
	return 0;
}

int store_nodes(struct store *s, const struct store_range *range, uint64_t now_us,
		struct store_page *ret, struct err *err)
{
	struct listing list = { s, store_statement(s, SQL_NODES), node_of_row, now_us, range->limit,
				0 };

	bind_text(list.st, 1, range->cursor ? range->cursor : "");
	bind_int(list.st, 2, (int64_t)range->limit + 1);
	return store_read_page(&list, ret, err);
}

int store_node(struct store *s, const char *node, uint64_t now_us, json_t **ret_node,
	       struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_NODE);
	int r;

	bind_text(st, 1, node);
	r = store_step_row(s, st, "read host", err);
	if (r == 0)
		return err_set(err, ENOENT, "no host '%.80s' is known", node);
	if (r == 1)
		*ret_node = node_of_row(st, now_us);
	return r < 0 ? r : 0;
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

int store_verdicts(struct store *s, const char *node, const struct store_range *range,
		   struct store_page *ret, struct err *err)
{
	struct listing list = { s, store_statement(s, SQL_REPORTS), verdict_of_row, 0, range->limit,
				0 };

	bind_text(list.st, 1, node);
	bind_int(list.st, 2, store_cursor_number(range));
	bind_int(list.st, 3, (int64_t)range->limit + 1);
	return store_read_page(&list, ret, err);
}

int store_bodies(struct store *s, const char *node, struct store_body *ret_bodies, size_t max,
		 struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_BODIES);
	size_t n = 0;
	int r;

	bind_text(st, 1, node);
	bind_int(st, 2, (int64_t)max);
	while ((r = store_step_row(s, st, "read bodies", err)) == 1) {
		size_t length = (size_t)sqlite3_column_bytes(st, 1);
		void *bytes = malloc(length + 1);

		if (!bytes) {
			r = err_set(err, ENOMEM, "out of memory");
			break;
		}
		if (length)
			memcpy(bytes, sqlite3_column_blob(st, 1), length);
		ret_bodies[n++] = (struct store_body){ sqlite3_column_int(st, 0), bytes, length };
	}
	if (r == 0)
		return (int)n;
	while (n > 0)
		free(ret_bodies[--n].bytes);
	return r;
}

static json_t *env_of_row(sqlite3_stmt *st, uint64_t now_us)
{
	(void)now_us;
	return json_pack("{s:o, s:o, s:o}", "node", column_json_text(st, 0), "sku",
			 column_json_text(st, 1), "env", env_of(st, 2));
}

int store_envs(struct store *s, const struct store_range *range, uint64_t now_us,
	       struct store_page *ret, struct err *err)
{
	struct listing list = { s, store_statement(s, SQL_ENVS), env_of_row, 0, range->limit, 0 };

	bind_int(list.st, 1, (int64_t)(now_us - STORE_STALE_US));
	bind_int(list.st, 2, (int64_t)(now_us + MOMENT_FUTURE_US));
	bind_text(list.st, 3, range->cursor ? range->cursor : "");
	bind_int(list.st, 4, (int64_t)range->limit + 1);
	return store_read_page(&list, ret, err);
}
