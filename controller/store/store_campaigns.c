/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_campaigns.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

int store_put_campaign(struct store *s, int64_t id, uint64_t ended_us, const json_t *body,
		       struct err *err)
{
	CLEANUP(freep) char *text = json_line(body);
	struct db_batch b = store_write(s, err);

	db_add(&b, campaign_put, .id = id, .ended_us = ended_us, .body = text);
	db_add(&b, campaigns_drop, .kept = STORE_CAMPAIGNS_MAX);
	return db_end(&b);
}

int store_last_campaign(struct store *s, int64_t *ret_id, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_campaign_last_row row;

	if (db_one(&b, campaign_last, &row))
		*ret_id = row.id;
	return db_end(&b);
}

static json_t *body_of(const struct db_campaigns_row *row)
{
	json_t *body = row->body ? json_loads(row->body, JSON_REJECT_DUPLICATES, NULL) : NULL;

	return body ? body : json_object();
}

static json_t *brief_of_row(const void *row, uint64_t now_us UNUSED)
{
	json_t *body = body_of(row);

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
	struct listing list = { .item = brief_of_row, .limit = range->limit };
	struct db_batch b = store_ask(s, err);

	db_each(&b, campaigns, listing_row, &list, .before = store_cursor_number(range),
		.limit = range->limit + 1);
	return listing_end(&list, &b, ret);
}

static int take_body(void *context, const void *row)
{
	json_t **ret = context;

	*ret = body_of(row);
	return 1;
}

int store_campaign(struct store *s, int64_t id, json_t **ret_campaign, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	json_t *body = NULL;

	db_each(&b, campaign, take_body, &body, .id = id);
	if (db_end(&b) < 0)
		return db_end(&b);
	if (!body)
		return err_set(err, ENOENT, "no campaign %" PRId64, id);
	*ret_campaign = body;
	return 0;
}

static int add_id(void *context, const void *row)
{
	const struct db_campaigns_open_row *campaign = row;

	(void)json_array_append_new(context, json_integer(campaign->id));
	return 0;
}

int store_open_campaigns(struct store *s, json_t **ret_ids, struct err *err)
{
	CLEANUP(json_freep) json_t *ids = json_array();
	struct db_batch b = store_ask(s, err);

	db_each(&b, campaigns_open, add_id, ids);
	if (db_end(&b) == 0)
		*ret_ids = TAKE(ids);
	return db_end(&b);
}
