/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_campaigns.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

int store_put_campaign(struct store *s, int64_t id, uint64_t ended_us, const json_t *body,
		       struct err *err)
{
	CLEANUP(freep) char *text = json_line(body);
	sqlite3_stmt *st;
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	st = store_statement(s, SQL_CAMPAIGN_PUT);
	bind_int(st, 1, id);
	if (ended_us)
		bind_int(st, 2, (int64_t)ended_us);
	bind_text(st, 3, text);
	r = store_step_done(s, st, "keep campaign", err);
	if (r < 0)
		return r;
	st = store_statement(s, SQL_CAMPAIGNS_DROP);
	bind_int(st, 1, STORE_CAMPAIGNS_MAX);
	return store_step_done(s, st, "drop what is old", err);
}

int store_last_campaign(struct store *s, int64_t *ret_id, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_CAMPAIGN_LAST);
	int r = store_step_row(s, st, "read campaigns", err);

	if (r == 1)
		*ret_id = sqlite3_column_int64(st, 0);
	return r < 0 ? r : 0;
}

static json_t *body_of(sqlite3_stmt *st)
{
	const char *text = column_text(st, 1);
	json_t *body = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;

	return body ? body : json_object();
}

static json_t *brief_of_row(sqlite3_stmt *st, uint64_t now_us UNUSED)
{
	json_t *body = body_of(st);

	(void)json_object_del(body, "rounds");
	(void)json_object_del(body, STORE_CAMPAIGN_KEPT);
	(void)json_object_set_new(
		body, "nodes",
		json_integer((json_int_t)json_array_size(json_object_get(body, "nodes"))));
	return body;
}

int store_campaigns(struct store *s, const struct store_range *range, struct store_page *ret,
		    struct err *err)
{
	struct listing list = { s, store_statement(s, SQL_CAMPAIGNS), brief_of_row, 0, range->limit,
				0 };

	bind_int(list.st, 1, store_cursor_number(range));
	bind_int(list.st, 2, (int64_t)range->limit + 1);
	return store_read_page(&list, ret, err);
}

int store_campaign(struct store *s, int64_t id, json_t **ret_campaign, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_CAMPAIGN);
	int r;

	bind_int(st, 1, id);
	r = store_step_row(s, st, "read campaign", err);
	if (r == 0)
		return err_set(err, ENOENT, "there is no campaign %" PRId64, id);
	if (r == 1)
		*ret_campaign = body_of(st);
	return r < 0 ? r : 0;
}

int store_open_campaigns(struct store *s, json_t **ret_ids, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_CAMPAIGNS_OPEN);
	CLEANUP(json_freep) json_t *ids = json_array();
	int r;

	while ((r = store_step_row(s, st, "read campaigns", err)) == 1)
		(void)json_array_append_new(ids, json_integer(sqlite3_column_int64(st, 0)));
	if (r == 0)
		*ret_ids = TAKE(ids);
	return r;
}
