/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/store/sql/statements.h"
#include "controller/store/store_predictions.h"
#include "controller/store/store_sql.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/sha256.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

const char *const window_state_names[] = { "queued", "analysed", "rejected", "failed", NULL };

/* --- jobs --- */

int store_find_job(struct store *s, const char *name, int64_t *ret_id, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_job_find_row row;
	const bool found = db_one(&b, job_find, &row, .name = name);

	if (db_end(&b) < 0)
		return db_end(&b);
	if (!found)
		return err_set(err, ENOENT, "no job '%.80s'", name);
	*ret_id = row.id;
	return 0;
}

/* Delete the one not heard of for the longest. */
static int make_room(struct db_batch *b)
{
	struct db_job_count_row count = { 0 };
	struct db_job_oldest_row oldest;

	(void)db_one(b, job_count, &count);
	if (db_end(b) < 0 || count.n < STORE_JOBS_MAX)
		return db_end(b);
	if (!db_one(b, job_oldest, &oldest))
		return db_end(b) < 0 ? db_end(b)
				     : err_set(b->err, EDQUOT,
					       "too many jobs: all %d wait for an analysis",
					       STORE_JOBS_MAX);
	db_add(b, job_drop_windows, .id = oldest.id);
	db_add(b, job_drop, .id = oldest.id);
	db_add(b, predictions_leave);
	db_add(b, advices_leave);
	return db_end(b);
}

int store_need_job(struct store *s, const char *name, uint64_t now_us, int64_t *ret_id,
		   struct err *err)
{
	struct db_job_add_row added;
	struct db_batch b;
	int r = store_find_job(s, name, ret_id, NULL);

	if (r != -ENOENT)
		return r;
	b = store_write(s, err);
	r = make_room(&b);
	if (r == 0 && db_one(&b, job_add, &added, .name = name, .now_us = now_us))
		*ret_id = added.id;
	return r < 0 ? r : db_end(&b);
}

/* "j12": a job in a path. */
static json_t *job_id(int64_t id)
{
	return json_sprintf("j%" PRId64, id);
}

static json_t *parsed(const char *text)
{
	json_t *value = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;

	return json_is_object(value) ? value : json_object();
}

/* A job that nothing is known about yet. */
static json_t *unseen(void)
{
	return json_pack(
		"{s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:s, s:[], s:{s:s, s:s}, s:n, s:i}",
		"hosts", "run", "step_s", "slowdown", "slowdown_low", "slowdown_high", "cause",
		"suspect", "state", "waiting", "suspects", "decision", "action", "none", "reason",
		"no window of the job has been analysed yet", "sentence", "windows", 0);
}

static json_t *item_of_job(const void *p, uint64_t now_us)
{
	const struct db_jobs_row *row = p;
	json_t *item = json_pack("{s:s, s:o}", "job", row->name, "id", job_id(row->id));
	CLEANUP(json_freep) json_t *shown = row->shown ? parsed(row->shown) : unseen();

	(void)json_object_update(item, shown);
	(void)json_object_set_new(item, "created", json_stamp(row->created_us));
	(void)json_object_set_new(item, "last", json_stamp(row->last_us));
	(void)json_object_set_new(
		item, "age_s",
		json_integer((json_int_t)((now_us - MIN(now_us, row->last_us)) / USEC_PER_SEC)));
	return item;
}

/* For lists: without what only a single job shows. */
static json_t *brief_of_job(const void *row, uint64_t now_us)
{
	json_t *item = item_of_job(row, now_us);

	(void)json_object_del(item, "suspects");
	(void)json_object_del(item, "decision");
	(void)json_object_del(item, "investigations");
	(void)json_object_del(item, "accused");
	(void)json_object_del(item, "strangers");
	(void)json_object_del(item, "informed");
	(void)json_object_del(item, "sentence");
	(void)json_object_del(item, "prediction");
	(void)json_object_del(item, "beats");
	(void)json_object_del(item, "hang");
	return item;
}

int store_jobs(struct store *s, const char *name, const struct store_range *range,
	       struct store_page *ret, struct err *err)
{
	struct listing list = { .item = brief_of_job,
				.limit = range->limit,
				.now_us = clock_real_us() };
	struct db_batch b = store_ask(s, err);
	const int64_t after = range->cursor ? store_cursor_number(range) : 0;

	if (name)
		db_each(&b, jobs_named, listing_row, &list, .name = name);
	else
		db_each(&b, jobs, listing_row, &list, .after = after, .limit = range->limit + 1);
	return listing_end(&list, &b, ret);
}

struct each_job {
	void (*each)(void *context, int64_t job);
	void *context;
};

static int take_id(void *context, const void *p)
{
	const struct each_job *to = context;

	to->each(to->context, ((const struct db_jobs_with_suspects_row *)p)->id);
	return 0;
}

int store_jobs_with_suspects(struct store *s, void (*each)(void *context, int64_t job),
			     void *context, struct err *err)
{
	struct each_job to = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, jobs_with_suspects, take_id, &to);
	return db_end(&b);
}

struct each_accused {
	void (*each)(void *context, int64_t job, const json_t *accused);
	void *context;
};

static int take_accused(void *context, const void *p)
{
	const struct db_jobs_that_accuse_row *row = p;
	const struct each_accused *to = context;
	CLEANUP(json_freep) json_t *accused = json_loads(row->accused, 0, NULL);

	to->each(to->context, row->id, accused);
	return 0;
}

int store_jobs_that_accuse(struct store *s,
			   void (*each)(void *context, int64_t job, const json_t *accused),
			   void *context, struct err *err)
{
	struct each_accused to = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, jobs_that_accuse, take_accused, &to);
	return db_end(&b);
}

static int take_acquitted(void *context, const void *p)
{
	static const char *const keys[] = { "class", "since", "acquitted" };
	const struct db_jobs_that_acquitted_row *row = p;
	CLEANUP(json_freep) json_t *accused = parsed(row->accused);
	json_t *item = json_pack("{s:s, s:o}", "job", row->name, "id", job_id(row->id));
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		(void)json_object_set(item, keys[i], json_object_get(accused, keys[i]));
	(void)json_array_append_new(context, item);
	return 0;
}

int store_jobs_that_acquitted(struct store *s, const char *host, json_t **ret, struct err *err)
{
	CLEANUP(json_freep) json_t *items = json_array();
	struct db_batch b = store_ask(s, err);

	db_each(&b, jobs_that_acquitted, take_acquitted, items, .host = host,
		.limit = STORE_BLAMING_MAX);
	if (db_end(&b) < 0)
		return db_end(&b);
	*ret = TAKE(items);
	return 0;
}

static int take_blaming(void *context, const void *p)
{
	static const char *const keys[] = { "class",	 "share",    "speed",  "hits",
					    "of",	 "windows",  "action", "reason",
					    "acquitted", "incident", "tells" };
	const struct db_jobs_that_blame_row *row = p;
	CLEANUP(json_freep) json_t *suspect = parsed(row->suspect);
	json_t *item = json_pack("{s:s, s:o, s:I, s:o}", "job", row->name, "id", job_id(row->id),
				 "run", (json_int_t)row->run, "last", json_stamp(row->last_us));
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *value = json_object_get(suspect, keys[i]);

		(void)json_object_set(item, keys[i], value ? value : json_null());
	}
	(void)json_object_set_new(item, "investigation",
				  row->investigation ? json_integer(row->investigation)
						     : json_null());
	(void)json_array_append_new(context, item);
	return 0;
}

int store_jobs_that_blame(struct store *s, const char *host, json_t **ret, struct err *err)
{
	CLEANUP(json_freep) json_t *items = json_array();
	struct db_batch b = store_ask(s, err);

	db_each(&b, jobs_that_blame, take_blaming, items, .host = host, .limit = STORE_BLAMING_MAX);
	if (db_end(&b) < 0)
		return db_end(&b);
	*ret = TAKE(items);
	return 0;
}

static int take_state(void *context, const void *p)
{
	const struct db_jobs_by_state_row *row = p;

	(void)json_object_set_new(context, row->state, json_integer((json_int_t)row->n));
	return 0;
}

static int take_slowdown(void *context, const void *p)
{
	const struct db_jobs_slowest_row *row = p;
	struct store_jobs_told *told = context;

	(void)json_object_set_new(told->slowdowns, row->name, json_real(row->slowdown));
	if (row->own)
		(void)json_object_set_new(told->own, row->name, json_real(row->slowdown));
	return 0;
}

void store_jobs_told_release(struct store_jobs_told *told)
{
	json_decref(told->states);
	json_decref(told->slowdowns);
	json_decref(told->own);
	*told = (struct store_jobs_told){ .states = NULL };
}

int store_jobs_now(struct store *s, size_t n, uint64_t since_us, struct store_jobs_told *ret,
		   struct err *err)
{
	CLEANUP(store_jobs_told_release)
	struct store_jobs_told told = { json_object(), json_object(), json_object(), 0 };
	struct db_jobs_suspects_row suspects = { 0 };
	struct db_batch b = store_ask(s, err);

	db_each(&b, jobs_by_state, take_state, told.states);
	db_each(&b, jobs_slowest, take_slowdown, &told, .since_us = since_us, .limit = n);
	(void)db_one(&b, jobs_suspects, &suspects);
	if (db_end(&b) < 0)
		return db_end(&b);
	told.suspects = suspects.n;
	*ret = told;
	told = (struct store_jobs_told){ .states = NULL };
	return 0;
}

static int take_job(void *context, const void *row)
{
	json_t **ret = context;

	*ret = item_of_job(row, clock_real_us());
	return 1;
}

int store_job(struct store *s, int64_t id, json_t **ret_job, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	json_t *job = NULL;

	db_each(&b, job, take_job, &job, .id = id);
	if (db_end(&b) < 0)
		return db_end(&b);
	if (!job)
		return err_set(err, ENOENT, "no job j%" PRId64, id);
	*ret_job = job;
	return 0;
}

int store_show_job(struct store *s, int64_t job, const char *shown, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, job_show, .id = job, .shown = shown);
	return db_end(&b);
}

/* --- beats and hangs --- */

struct shown {
	int64_t id;
	json_t *json;
};

struct kept {
	const char *key;
	json_t *value; /* borrowed */
	uint64_t now_us;
};

static int take_shown(void *context, const void *p)
{
	const struct db_jobs_row *row = p;
	struct shown *ret = context;

	ret->id = row->id;
	ret->json = row->shown ? parsed(row->shown) : unseen();
	return 1;
}

/* Set `value` in what is shown of the job, and that it was heard of, unless `now_us` is 0. */
static int keep_shown(struct store *s, const char *job, const struct kept *kept, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	struct db_batch b = store_ask(s, err);
	struct shown shown = { 0, NULL };

	db_each(&b, jobs_named, take_shown, &shown, .name = job);
	if (db_end(&b) == 0 && shown.json) {
		(void)json_object_set(shown.json, kept->key, kept->value);
		text = json_line(shown.json);
		b = store_write(s, err);
		db_add(&b, job_show, .id = shown.id, .shown = text);
		if (kept->now_us)
			db_add(&b, job_heard, .id = shown.id, .now_us = kept->now_us);
	}
	json_decref(shown.json);
	return db_end(&b);
}

int store_keep_beats(struct store *s, const char *job, json_t *beats, uint64_t now_us,
		     struct err *err)
{
	return keep_shown(s, job, &(struct kept){ "beats", beats, now_us }, err);
}

int store_keep_hang(struct store *s, const char *job, json_t *hang, struct err *err)
{
	return keep_shown(s, job, &(struct kept){ "hang", hang, 0 }, err);
}

struct each_beat {
	void (*each)(void *context, int64_t job, const char *name, const json_t *beats);
	void *context;
};

static int take_beat(void *context, const void *p)
{
	const struct db_jobs_that_beat_row *row = p;
	const struct each_beat *to = context;
	CLEANUP(json_freep) json_t *beats = json_loads(row->beats, 0, NULL);

	to->each(to->context, row->id, row->name, beats);
	return 0;
}

int store_jobs_that_beat(struct store *s,
			 void (*each)(void *context, int64_t job, const char *name,
				      const json_t *beats),
			 void *context, struct err *err)
{
	struct each_beat to = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, jobs_that_beat, take_beat, &to);
	return db_end(&b);
}

static int take_hang(void *context, const void *p)
{
	const struct db_jobs_that_hang_row *row = p;
	const struct each_beat *to = context;
	CLEANUP(json_freep) json_t *hang = json_loads(row->hang, 0, NULL);

	to->each(to->context, row->id, row->name, hang);
	return 0;
}

int store_jobs_that_hang(struct store *s,
			 void (*each)(void *context, int64_t job, const char *name,
				      const json_t *hang),
			 void *context, struct err *err)
{
	struct each_beat to = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, jobs_that_hang, take_hang, &to);
	return db_end(&b);
}

/* --- windows --- */

int store_count_trace_windows(struct store *s, int64_t job, uint64_t ret[static WINDOW_STATES],
			      struct err *err)
{
	struct db_batch b = store_ask(s, err);
	int state;

	for (state = 0; state < WINDOW_STATES; state++) {
		struct db_trace_windows_counted_row row = { 0 };

		(void)db_one(&b, trace_windows_counted, &row, .job = job, .state = state);
		ret[state] = row.n;
	}
	return db_end(&b);
}

int store_queued_windows(struct store *s, int64_t job, struct store_queue *ret, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_trace_windows_queued_row row = { 0 };

	(void)db_one(&b, trace_windows_queued, &row, .job = job);
	*ret = (struct store_queue){ row.n, row.bytes, row.job_bytes };
	return db_end(&b);
}

int store_windows_since(struct store *s, int64_t job, const struct store_span *span, size_t most,
			uint64_t *ret_n, uint64_t *ret_first_us, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_trace_windows_since_row row = { 0 };

	(void)db_one(&b, trace_windows_since, &row, .job = job, .since_us = span->since_us,
		     .now_us = span->until_us, .limit = most);
	*ret_n = row.n;
	*ret_first_us = row.first_us;
	return db_end(&b);
}

int store_find_window(struct store *s, const struct store_trace_window *like, int64_t *ret_id,
		      enum window_state *ret_state, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_trace_window_by_digest_row row;
	const bool found = db_one(&b, trace_window_by_digest, &row, .job = like->job,
				  .run = like->run, .digest = like->digest);

	if (db_end(&b) < 0)
		return db_end(&b);
	if (!found)
		return err_set(err, ENOENT, "no window %.16s", like->digest);
	*ret_id = row.id;
	*ret_state = (enum window_state)store_within(row.state, WINDOW_FAILED);
	return 0;
}

int store_queue_window(struct store *s, const struct store_trace_window *w, int64_t *ret_id,
		       struct err *err)
{
	struct db_batch b = store_write(s, err);
	struct db_trace_window_add_row added;

	if (db_one(&b, trace_window_add, &added, .job = w->job, .run = w->run, .digest = w->digest,
		   .parts = w->parts, .came = w->came, .bytes = w->bytes,
		   .received_us = w->received_us, .from_us = w->from_us, .until_us = w->until_us,
		   .bound = w->bound))
		*ret_id = added.id;
	db_add(&b, job_heard, .id = w->job, .now_us = w->received_us);
	return db_end(&b);
}

static struct store_trace_window window_of(const struct db_trace_window_next_row *row)
{
	return (struct store_trace_window){
		.id = row->id,
		.job = row->job,
		.run = row->run,
		.digest = row->digest,
		.parts = row->parts,
		.came = row->came,
		.bytes = row->bytes,
		.state = (enum window_state)store_within(row->state, WINDOW_FAILED),
		.tries = row->tries,
		.received_us = row->received_us,
		.from_us = row->from_us,
		.until_us = row->until_us,
		.reason = row->reason,
		.summary = row->summary,
		.bound = row->bound != 0,
	};
}

struct taking {
	void (*take)(void *context, const struct store_trace_window *window);
	void *context;
};

static int take_window(void *context, const void *row)
{
	const struct taking *taking = context;
	const struct store_trace_window window = window_of(row);

	taking->take(taking->context, &window);
	return 0;
}

int store_next_window(struct store *s,
		      void (*take)(void *context, const struct store_trace_window *window),
		      void *context, struct err *err)
{
	struct taking taking = { take, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, trace_window_next, take_window, &taking);
	return db_end(&b);
}

/* --- windows in parts --- */

int store_find_part(struct store *s, const struct store_trace_window *run, int64_t part,
		    const char *digest, int64_t *ret_id, enum window_state *ret_state,
		    struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_trace_part_before_row row;
	const bool found = db_one(&b, trace_part_before, &row, .job = run->job, .run = run->run,
				  .part = part, .digest = digest);

	if (db_end(&b) < 0)
		return db_end(&b);
	if (!found)
		return err_set(err, ENOENT, "there is no such part");
	*ret_id = row.id;
	*ret_state = (enum window_state)store_within(row.state, WINDOW_FAILED);
	return 0;
}

int store_open_window(struct store *s, const struct store_trace_window *run,
		      void (*take)(void *context, const struct store_trace_window *window),
		      void *context, struct err *err)
{
	struct taking taking = { take, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, trace_window_open, take_window, &taking, .job = run->job, .run = run->run);
	return db_end(&b);
}

int store_late_window(struct store *s, uint64_t before_us,
		      void (*take)(void *context, const struct store_trace_window *window),
		      void *context, struct err *err)
{
	struct taking taking = { take, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, trace_window_late, take_window, &taking, .before_us = before_us);
	return db_end(&b);
}

static int take_true(void *context, const void *row UNUSED)
{
	*(bool *)context = true;
	return 1;
}

int store_has_part(struct store *s, int64_t window, int64_t part, bool *ret, struct err *err)
{
	struct db_batch b = store_ask(s, err);

	*ret = false;
	db_each(&b, trace_part_there, take_true, ret, .window = window, .part = part);
	return db_end(&b);
}

struct part_list {
	void (*each)(void *context, int64_t part);
	void *context;
	struct sha256 *sum; /* of their digests, in order; NULL: not wanted */
};

static int take_part(void *context, const void *p)
{
	const struct db_trace_parts_row *row = p;
	const struct part_list *list = context;

	if (list->each)
		list->each(list->context, row->part);
	if (list->sum)
		sha256_add_text(list->sum, row->digest);
	return 0;
}

int store_trace_parts(struct store *s, int64_t window, void (*each)(void *context, int64_t part),
		      void *context, struct err *err)
{
	struct part_list list = { each, context, NULL };
	struct db_batch b = store_ask(s, err);

	db_each(&b, trace_parts, take_part, &list, .window = window);
	return db_end(&b);
}

int store_add_part(struct store *s, const struct store_trace_window *w, int64_t part,
		   const char *digest, bool first, struct err *err)
{
	struct db_batch b = store_write(s, err);
	char hex[SHA256_HEX_SIZE];
	struct sha256 sum;
	struct part_list list = { NULL, NULL, &sum };

	db_add(&b, trace_part_add, .window = w->id, .part = part, .digest = digest);
	if (first)
		return db_end(&b);
	sha256_init(&sum);
	db_each(&b, trace_parts, take_part, &list, .window = w->id);
	sha256_hex(&sum, hex);
	db_add(&b, trace_part_came, .id = w->id, .bytes = w->bytes, .from_us = w->from_us,
	       .until_us = w->until_us, .digest = w->came + 1 == w->parts ? hex : w->digest,
	       .bound = w->bound);
	return db_end(&b);
}

/* --- end of windows --- */

int store_window_tried(struct store *s, int64_t id, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, trace_window_tried, .id = id);
	return db_end(&b);
}

int store_end_window(struct store *s, const struct store_trace_window *w, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, trace_window_end, .id = w->id, .state = (int64_t)w->state, .reason = w->reason,
	       .summary = w->summary);
	return db_end(&b);
}

int store_window_is(struct store *s, int64_t id, enum window_state state, int64_t *ret_job,
		    struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_trace_window_is_row row = { 0 };

	(void)db_one(&b, trace_window_is, &row, .id = id, .state = (int64_t)state);
	if (db_end(&b) == 0)
		*ret_job = row.job;
	return db_end(&b);
}

int store_analysed_windows(struct store *s, int64_t job, size_t n,
			   void (*each)(void *context, const struct store_trace_window *window),
			   void *context, struct err *err)
{
	struct taking taking = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, trace_windows_analysed, take_window, &taking, .job = job, .limit = n);
	return db_end(&b);
}

int store_window_before(struct store *s, int64_t job, int64_t run, size_t n, int64_t *ret_window,
			int64_t *ret_run, struct err *err)
{ /* lint: allow parameters: the windows, and two results */
	struct db_batch b = store_ask(s, err);
	struct db_trace_window_before_row row = { 0 };

	(void)db_one(&b, trace_window_before, &row, .job = job, .run = run, .limit = n);
	if (db_end(&b) == 0) {
		*ret_window = row.id;
		*ret_run = row.run;
	}
	return db_end(&b);
}

/* Members of its summary for a list of windows. */
static void add_summary(json_t *item, const char *summary)
{
	static const char *const keys[] = { "steps",	     "slowdown", "slowdown_low",
					    "slowdown_high", "cause",	 "suspect" };
	CLEANUP(json_freep) json_t *found = parsed(summary);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *value = json_object_get(found, keys[i]);

		(void)json_object_set(item, keys[i], value ? value : json_null());
	}
}

static json_t *item_of_window(const void *p, uint64_t now_us UNUSED)
{
	const struct store_trace_window w = window_of(p);
	json_t *item = json_pack("{s:I, s:I, s:s, s:o, s:s, s:o, s:o, s:o, s:b}", "id",
				 (json_int_t)w.id, "run", (json_int_t)w.run, "state",
				 window_state_names[w.state], "reason", store_json_text(w.reason),
				 "digest", w.digest, "from", json_stamp(w.from_us), "until",
				 json_stamp(w.until_us), "received", json_stamp(w.received_us),
				 "coarse", w.from_us == 0);

	add_summary(item, w.summary);
	return item;
}

int store_trace_windows(struct store *s, int64_t job, const struct store_range *range,
			struct store_page *ret, struct err *err)
{
	struct listing list = { .item = item_of_window, .limit = range->limit };
	struct db_batch b = store_ask(s, err);

	db_each(&b, trace_windows, listing_row, &list, .job = job,
		.before = store_cursor_number(range), .limit = range->limit + 1);
	return listing_end(&list, &b, ret);
}

static int take_item(void *context, const void *row)
{
	json_t **ret = context;

	*ret = item_of_window(row, 0);
	return 1;
}

int store_trace_window(struct store *s, int64_t job, int64_t id, json_t **ret_window,
		       struct err *err)
{
	struct db_batch b = store_ask(s, err);
	json_t *window = NULL;

	db_each(&b, trace_window, take_item, &window, .job = job, .id = id);
	if (db_end(&b) < 0)
		return db_end(&b);
	if (!window)
		return err_set(err, ENOENT, "job j%" PRId64 " has no window %" PRId64, job, id);
	*ret_window = window;
	return 0;
}

int store_thin_jobs(struct store *s, uint64_t windows_us, uint64_t jobs_us, uint64_t parts_us,
		    struct err *err)
{
	struct db_batch b = store_write(s, err);
	struct db_trace_windows_drop_row windows = { 0 };
	struct db_jobs_drop_row jobs = { 0 };

	(void)db_one(&b, trace_windows_drop, &windows, .before_us = windows_us);
	(void)db_one(&b, jobs_drop, &jobs, .before_us = jobs_us);
	db_add(&b, trace_parts_drop, .before_us = parts_us);
	db_add(&b, predictions_leave);
	db_add(&b, advices_leave);
	db_add(&b, predictions_drop, .before_us = jobs_us, .most = STORE_PREDICTIONS_KEPT);
	return db_end(&b) < 0 ? db_end(&b) : windows.changes + jobs.changes > 0;
}
