/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_investigations.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

int store_add_investigation(struct store *s, const struct store_investigation *one, int64_t *ret_id,
			    struct err *err)
{
	CLEANUP(freep) char *text = json_line(one->body);
	struct db_batch b = store_write(s, err);
	struct db_investigation_add_row added;

	if (db_one(&b, investigation_add, &added, .job = one->job, .began_us = one->began_us,
		   .ended_us = one->ended_us, .body = text))
		*ret_id = added.id;
	db_add(&b, investigations_drop_of_job, .job = one->job, .kept = STORE_INVESTIGATIONS_OF_JOB);
	return db_end(&b);
}

int store_put_investigation(struct store *s, const struct store_investigation *one, struct err *err)
{
	CLEANUP(freep) char *text = json_line(one->body);
	struct db_batch b = store_write(s, err);

	db_add(&b, investigation_put, .id = one->id, .ended_us = one->ended_us, .body = text);
	return db_end(&b);
}

static json_t *item_of(const void *p, uint64_t now_us UNUSED)
{
	const struct db_investigations_list_row *row = p;
	json_t *body = row->body ? json_loads(row->body, JSON_REJECT_DUPLICATES, NULL) : NULL;

	body = body ? body : json_object();
	(void)json_object_set_new(body, "id", json_integer(row->id));
	return body;
}

static json_t *brief_of(const void *row, uint64_t now_us)
{
	json_t *item = item_of(row, now_us);

	(void)json_object_del(item, "tests");
	(void)json_object_del(item, "diagnosis");
	(void)json_object_del(item, "pairs");
	return item;
}

int store_investigations(struct store *s, const struct store_range *range, struct store_page *ret,
			 struct err *err)
{
	struct listing list = { .item = brief_of, .limit = range->limit };
	struct db_batch b = store_ask(s, err);

	db_each(&b, investigations_list, listing_row, &list, .before = store_cursor_number(range),
		.limit = range->limit + 1);
	return listing_end(&list, &b, ret);
}

static int take_item(void *context, const void *row)
{
	json_t **ret = context;

	*ret = item_of(row, 0);
	return 1;
}

int store_investigation(struct store *s, int64_t id, json_t **ret, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	json_t *item = NULL;

	db_each(&b, investigation_get, take_item, &item, .id = id);
	if (db_end(&b) < 0)
		return db_end(&b);
	if (!item)
		return err_set(err, ENOENT, "no investigation %" PRId64, id);
	*ret = item;
	return 0;
}

static int add_item(void *context, const void *row)
{
	(void)json_array_append_new(context, item_of(row, 0));
	return 0;
}

int store_investigations_of(struct store *s, int64_t job, uint64_t since_us, json_t **ret,
			    struct err *err)
{
	CLEANUP(json_freep) json_t *items = json_array();
	struct db_batch b = store_ask(s, err);

	db_each(&b, investigations_of_job, add_item, items, .job = job, .since_us = since_us,
		.limit = STORE_INVESTIGATIONS_OF_JOB + 1);
	if (db_end(&b) == 0)
		*ret = TAKE(items);
	return db_end(&b);
}

int store_investigation_of_host(struct store *s, int64_t job, const char *host, json_t **ret,
				struct err *err)
{
	struct db_batch b = store_ask(s, err);

	*ret = NULL;
	db_each(&b, investigation_of_host, take_item, ret, .job = job, .host = host);
	return db_end(&b);
}

struct each_job {
	void (*each)(void *context, int64_t job);
	void *context;
};

static int call_each(void *context, const void *row)
{
	const struct db_investigations_going_on_row *job = row;
	const struct each_job *one = context;

	one->each(one->context, job->id);
	return 0;
}

int store_jobs_investigated(struct store *s, void (*each)(void *context, int64_t job),
			    void *context, struct err *err)
{
	struct each_job one = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, investigations_going_on, call_each, &one);
	return db_end(&b);
}

struct ages {
	json_t *of; /* by state */
	uint64_t now_us;
};

static int take_oldest(void *context, const void *p)
{
	const struct db_investigations_oldest_row *row = p;
	const struct ages *ages = context;
	const uint64_t age_us = ages->now_us - MIN(row->began_us, ages->now_us);

	if (row->state)
		(void)json_object_set_new(ages->of, row->state,
					  json_real((double)age_us / USEC_PER_SEC));
	return 0;
}

int store_investigations_oldest(struct store *s, uint64_t now_us, json_t **ret, struct err *err)
{
	struct ages ages = { json_object(), now_us };
	struct db_batch b = store_ask(s, err);

	db_each(&b, investigations_oldest, take_oldest, &ages);
	if (db_end(&b) == 0)
		*ret = TAKE(ages.of);
	json_decref(ages.of);
	return db_end(&b);
}

int store_thin_investigations(struct store *s, uint64_t before_us, struct err *err)
{
	struct db_batch b = store_write(s, err);
	struct db_investigations_drop_row dropped = { 0 };

	(void)db_one(&b, investigations_drop, &dropped, .before_us = before_us);
	return db_end(&b) < 0 ? db_end(&b) : dropped.changes > 0;
}
