/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/actions/remediation.h"
#include "controller/controller.h"
#include "controller/job/analysis.h"
#include "controller/job/job_advice.h"
#include "controller/job/job_judging.h"
#include "controller/job/job_live.h"
#include "controller/job/job_pods.h"
#include "controller/job/job_prediction.h"
#include "controller/job/job_speeds.h"
#include "controller/job/job_suspects.h"
#include "controller/job/parts.h"
#include "controller/job/placing.h"
#include "controller/job/summary.h"
#include "controller/job/trace_files.h"
#include "controller/store/store.h"
#include "controller/store/store_investigations.h"
#include "controller/store/store_jobs.h"
#include "controller/store/store_placements.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/sha256.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum {
	TRIES_MAX = 2,	  /* failed analyses of a window */
	LATEST_SHOWN = 5, /* windows shown with their job */
	/* Larger traces are not hashed just to find out whether they are duplicates. */
	DIGEST_SOON_MAX = 4 * 1024 * 1024,
};

#define WINDOWS_KEPT_US (30 * USEC_PER_DAY)
#define JOBS_KEPT_US (365 * USEC_PER_DAY)
#define INVESTIGATIONS_KEPT_US (365 * USEC_PER_DAY)
/* How long a part can be recognized as a duplicate. */
#define PARTS_KEPT_US USEC_PER_DAY
#define PLACEMENTS_KEPT_US (8 * USEC_PER_DAY) /* longer than the age limit of a step */
#define THIN_EVERY_US USEC_PER_HOUR

struct jobs {
	struct service *s;
	struct trace_files files;
	struct analysis *analysis;
	struct job_pods *pods;
	struct job_live *live;
	struct job_speeds speeds;
	struct jobs_counts counts;
	/* The window being analysed, or the last one. */
	int64_t window, job, run;
	uint64_t from_us, until_us;
	int64_t parts, tries;
	bool bound;
	bool under_way; /* until its end is durable */
	bool ended;	/* its end is in the open transaction */
	bool looking;	/* there may be queued windows */
	bool sweeping;	/* rows were deleted, but not their files yet */
	enum window_state end;
	uint64_t thin_us;
};

bool jobs_name_ok(const char *name)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/:@+=";
	const size_t length = strlen(name);

	return length > 0 && length <= JOB_NAME_MAX && strspn(name, plain) == length;
}

/* --- receiving a window --- */

static void digest(const struct jobs_window *w, char ret[static SHA256_HEX_SIZE])
{
	struct sha256 sum;

	sha256_init(&sum);
	sha256_add(&sum, w->bytes, w->length);
	if (w->meta)
		sha256_add_text(&sum, w->meta);
	sha256_hex(&sum, ret);
}

/* The window of the run that waits for parts. */
struct open_window {
	struct store_trace_window row;
	char digest[SHA256_HEX_SIZE];
	bool found;
};

/* What is known about the job. */
struct known_job {
	int64_t id; /* 0: unknown job */
	struct open_window open;
};

static int refuse_for(struct jobs_queued *ret, uint64_t wait_us, struct err *err, const char *why)
{
	ret->wait_s = (unsigned)(wait_us / USEC_PER_SEC + 1);
	return err_set(err, EAGAIN, "%s", why);
}

/* Is there room for its file, and for its window unless that has begun (`open`)? */
static int check_room(struct service *s, const struct jobs_window *w, const struct known_job *job,
		      struct jobs_queued *ret, struct err *err)
{
	struct store_queue queue = { 0 };
	int r = store_queued_windows(s->store, job->id, &queue, err);

	if (r < 0)
		return r;
	if (!job->open.found && queue.windows >= STORE_WINDOWS_QUEUED_MAX)
		return refuse_for(ret, JOB_WINDOW_EVERY_US, err,
				  "too many windows are waiting for analysis");
	/* If it is too large by itself, waiting does not help: check_part() says so. */
	if (job->open.found && job->open.row.bytes + (int64_t)w->length > TRACE_JOINED_MAX)
		return 0;
	if (queue.bytes + w->length > TRACES_MAX || queue.job_bytes + w->length > TRACES_JOB_MAX)
		return refuse_for(ret, JOB_WINDOW_EVERY_US, err,
				  "the traces waiting for analysis are too large together");
	return 0;
}

/* May another window of the job be queued now? Unknown jobs (0) had none yet. */
static int check_pace(struct service *s, const struct jobs_window *w, const struct known_job *job,
		      uint64_t now_us, struct jobs_queued *ret, struct err *err)
{
	const uint64_t span_us = JOB_WINDOWS_AT_ONCE * JOB_WINDOW_EVERY_US;
	const struct store_span span = { now_us - span_us, now_us };
	uint64_t n = 0, first_us = 0;
	int r = check_room(s, w, job, ret, err);

	if (r < 0 || job->open.found)
		return r;
	r = store_windows_since(s->store, job->id, &span, JOB_WINDOWS_AT_ONCE, &n, &first_us, err);
	if (r < 0)
		return r;
	if (n >= JOB_WINDOWS_AT_ONCE)
		return refuse_for(ret, first_us + span_us - now_us, err,
				  "more than one window a minute");
	return 0;
}

/* The row of a new window, with everything received so far. */
static struct store_trace_window begun(const struct jobs_window *w, int64_t job, const char *hex,
				       uint64_t now_us)
{
	return (struct store_trace_window){
		.job = job,
		.run = w->run,
		.digest = hex,
		.parts = w->of,
		.came = 1,
		.bytes = (int64_t)w->length,
		.received_us = now_us,
		.from_us = w->from_us,
		.until_us = w->until_us,
		.bound = w->bound,
	};
}

static int keep_file(struct jobs *j, const struct jobs_window *w, int64_t window,
		     struct jobs_queued *ret, struct err *err)
{
	ret->window = window;
	ret->state = WINDOW_QUEUED;
	j->looking = true;
	return trace_files_put(&j->files, window, w->part, w->bytes, w->length, w->meta, err);
}

static int queue(struct jobs *j, const struct jobs_window *w, struct store_trace_window *row,
		 struct jobs_queued *ret, struct err *err)
{
	int r = store_queue_window(j->s->store, row, &row->id, err);

	if (r == 0 && w->of > 1)
		r = store_add_part(j->s->store, row, w->part, row->digest, true, err);
	if (r < 0)
		return r;
	j->counts.windows[WINDOW_QUEUED]++;
	ret->came = 1;
	return keep_file(j, w, row->id, ret, err);
}

/* --- receiving a part --- */

static void take_open(void *context, const struct store_trace_window *w)
{
	struct open_window *ret = context;

	ret->row = *w;
	(void)snprintf(ret->digest, sizeof(ret->digest), "%s", w->digest);
	ret->row.digest = ret->digest;
	ret->row.reason = ret->row.summary = NULL;
	ret->found = true;
}

static int check_part(struct service *s, const struct jobs_window *w,
		      const struct open_window *open, struct err *err)
{
	bool there = false;
	int r;

	if (open->row.parts != w->of)
		return err_set(err, EEXIST,
			       "window %" PRId64
			       " of this run is still missing some of its %" PRId64
			       " parts: send one of those, or wait until it is closed",
			       open->row.id, open->row.parts);
	r = parts_together(&open->row, w->from_us, w->until_us, err);
	if (r == 0)
		r = store_has_part(s->store, open->row.id, w->part, &there, err);
	if (r == 0 && there)
		r = err_set(err, EEXIST,
			    "part %" PRId64 " of window %" PRId64 " exists with other content",
			    w->part, open->row.id);
	if (r == 0 && open->row.bytes + (int64_t)w->length > TRACE_JOINED_MAX)
		r = err_set(err, E2BIG, "together, the parts of a window are larger than %d MiB",
			    TRACE_JOINED_MAX / (1024 * 1024));
	return r;
}

/* Add a part to the window that waits for it. */
static int join(struct jobs *j, const struct jobs_window *w, const struct open_window *open,
		const char *hex, struct jobs_queued *ret, struct err *err)
{
	struct store_trace_window row = open->row;
	int r = check_part(j->s, w, open, err);

	row.bytes = (int64_t)w->length;
	row.from_us = w->from_us;
	row.until_us = w->until_us;
	row.bound = w->bound;
	if (r == 0)
		r = store_add_part(j->s->store, &row, w->part, hex, false, err);
	ret->came = open->row.came + 1;
	return r < 0 ? r : keep_file(j, w, open->row.id, ret, err);
}

/* --- both --- */

/* Was the same received before? Returns 1 if so, and sets `ret`. */
static int find(struct service *s, const struct jobs_window *w, int64_t job, const char *hex,
		struct jobs_queued *ret, struct err *err)
{
	const struct store_trace_window like = { .job = job, .run = w->run, .digest = hex };
	enum window_state state;
	int r = w->of > 1
			? store_find_part(s->store, &like, w->part, hex, &ret->window, &state, err)
			: store_find_window(s->store, &like, &ret->window, &state, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	ret->job = job;
	ret->state = (int)state;
	ret->known = true;
	ret->came = w->of;
	return 1;
}

static int find_job(struct service *s, const struct jobs_window *w, struct known_job *ret,
		    struct err *err)
{
	struct store_trace_window run = { .run = w->run };
	int r = store_find_job(s->store, w->job, &run.job, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	ret->id = run.job;
	return w->of == 1 ? 0 : store_open_window(s->store, &run, take_open, &ret->open, err);
}

int jobs_take(struct service *s, const struct jobs_window *w, struct jobs_queued *ret,
	      struct err *err)
{
	const uint64_t now_us = clock_real_us();
	struct known_job job = { .id = 0 };
	struct store_trace_window row;
	char hex[SHA256_HEX_SIZE] = "";
	struct err why = ERR_INIT;
	int pace, r;

	*ret = (struct jobs_queued){ 0 };
	r = find_job(s, w, &job, err);
	if (r < 0)
		return r;
	pace = check_pace(s, w, &job, now_us, ret, &why);
	if (pace < 0 && (pace != -EAGAIN || w->length > DIGEST_SOON_MAX))
		return err_set(err, -pace, "%.80s: %s", w->job, why.msg);
	digest(w, hex);
	if (job.id)
		r = find(s, w, job.id, hex, ret, err);
	if (r != 0)
		return MIN(r, 0);
	if (pace < 0)
		return err_set(err, -pace, "%.80s: %s", w->job, why.msg);
	r = store_need_job(s->store, w->job, now_us, &ret->job, err);
	if (r < 0)
		return r;
	if (job.open.found)
		return join(s->jobs, w, &job.open, hex, ret, err);
	row = begun(w, ret->job, hex, now_us);
	return queue(s->jobs, w, &row, ret, err);
}

/* --- results --- */

/* End the window in progress, with the next commit. */
static void end(struct jobs *j, enum window_state state, const char *reason, const char *summary)
{
	const struct store_trace_window row = {
		.id = j->window, .job = j->job, .state = state, .reason = reason, .summary = summary
	};
	struct err err = ERR_INIT;
	int r = store_end_window(j->s->store, &row, &err);

	if (r == 0)
		r = job_live_show(j->live, j->job, state == WINDOW_REJECTED, &err);
	if (r < 0) {
		service_failed(j->s, &err);
		return;
	}
	j->end = state;
	j->ended = true;
	if (reason)
		log_warning("window %" PRId64 " of job j%" PRId64 " %s: %s", j->window, j->job,
			    window_state_names[state], reason);
	service_touch(j->s);
}

/* Retry, or fail. */
static void try_again(struct jobs *j, const char *reason)
{
	struct err err = ERR_INIT;

	if (j->tries + 1 >= TRIES_MAX) {
		end(j, WINDOW_FAILED, reason, NULL);
		return;
	}
	log_warning("window %" PRId64 " of job j%" PRId64 " will be analysed again: %s", j->window,
		    j->job, reason);
	if (store_window_tried(j->s->store, j->window, &err) < 0)
		service_failed(j->s, &err);
	j->under_way = false;
	j->looking = true;
	service_touch(j->s);
}

/* The window in progress; `ret_job` owns its texts. */
static int window_of(const struct jobs *j, struct placing_window *ret, json_t **ret_job,
		     struct err *err)
{
	int r = store_job(j->s->store, j->job, ret_job, err);

	*ret = (struct placing_window){ .job = json_string_value(json_object_get(*ret_job, "job")),
					.run = j->run,
					.span = { j->from_us, j->until_us },
					.bound = j->bound,
					.pods = job_pods_known(j->pods) };
	return r;
}

/* Name its suspects by where their ranks were in the window in progress. */
static int place(struct jobs *j, json_t *summary, struct err *err)
{
	CLEANUP(json_freep) json_t *job = NULL;
	struct placing_window window;
	int r = window_of(j, &window, &job, err);

	return r < 0 ? r : placing_settle(j->s->store, &window, summary, err);
}

/* Store what lists show; data for pictures and lateness are only in the file. */
static void found(struct jobs *j, json_t *summary)
{
	CLEANUP(freep) char *whole = NULL;
	CLEANUP(freep) char *brief = NULL;
	struct err err = ERR_INIT;

	if (place(j, summary, &err) < 0) {
		try_again(j, err.msg);
		return;
	}
	job_judging_note_boots(&j->s->hosts, summary);
	whole = json_line(summary);
	if (trace_files_keep(&j->files, j->window, j->job, whole, &err) < 0) {
		try_again(j, err.msg);
		return;
	}
	(void)json_object_del(summary, "heat");
	(void)json_object_del(summary, "lateness");
	(void)json_object_del(summary, "detail");
	brief = json_line(summary);
	end(j, WINDOW_ANALYSED, NULL, brief);
}

static void on_analysis(void *context, enum analysis_result result, const char *text)
{
	CLEANUP(json_freep) json_t *summary = NULL;
	struct jobs *j = context;
	struct err err = ERR_INIT;
	int r;

	if (result != ANALYSIS_DONE) {
		if (result == ANALYSIS_REJECTED)
			end(j, WINDOW_REJECTED, text, NULL);
		else
			try_again(j, text);
		return;
	}
	r = summary_read(text, &summary, &err);
	if (r == 0 && streq(json_string_value(json_object_get(summary, "label")), "rejected"))
		end(j, WINDOW_REJECTED, json_string_value(json_object_get(summary, "sentence")),
		    NULL);
	else if (r == 0)
		found(j, summary);
	else if (r == -ERANGE)
		end(j, WINDOW_REJECTED, err.msg, NULL);
	else
		try_again(j, err.msg);
}

/* --- the next window --- */

static void take_next(void *context, const struct store_trace_window *w)
{
	struct jobs *j = context;

	j->window = w->id;
	j->job = w->job;
	j->parts = w->parts;
	j->run = w->run;
	j->from_us = w->from_us;
	j->until_us = w->until_us;
	j->tries = w->tries;
	j->bound = w->bound;
	j->under_way = true;
}

static void analyse(struct jobs *j)
{
	char **files = xcalloc((size_t)j->parts + 1, sizeof(*files));
	CLEANUP(freep) char *meta = trace_files_meta(&j->files, j->window);
	const struct policy_jobs *policy = &j->s->rules.policy.jobs;
	CLEANUP(json_freep) json_t *job = NULL;
	CLEANUP(freep) char *speeds = NULL;
	struct placing_window window;
	struct err err = ERR_INIT;
	int64_t i;
	int r;

	for (i = 0; i < j->parts; i++)
		files[i] = trace_files_trace(&j->files, j->window, i + 1);
	r = window_of(j, &window, &job, &err);
	if (r == 0)
		r = job_speeds_of(&j->speeds, &j->s->baselines, j->s->store, &window, &speeds, &err);
	if (r == 0)
		r = analysis_start(j->analysis, (const char *const *)files, meta, speeds,
				   &(struct analysis_bars){ policy->min_gain, policy->share }, &err);
	for (i = 0; i < j->parts; i++)
		free(files[i]);
	free(files);
	if (r < 0)
		try_again(j, err.msg);
}

/* The answer is used at the end of the analysis. */
static void on_pods(void *context)
{
	struct jobs *j = context;

	if (!j->s->closing) {
		analyse(j);
		return;
	}
	j->under_way = false;
	j->looking = true;
}

/*
 * Ask for its pods first, as they are most likely to exist still. Not for a window of unknown time:
 * current pods need not be those of that time.
 */
static void start(struct jobs *j)
{
	CLEANUP(json_freep) json_t *job = NULL;
	struct err err = ERR_INIT;

	if (store_job(j->s->store, j->job, &job, &err) < 0)
		try_again(j, err.msg);
	else
		job_pods_ask(j->pods, j->until_us ? j->s->cluster : NULL,
			     json_string_value(json_object_get(job, "job")));
}

/* Reject a window whose parts did not all arrive. */
static void end_late(struct jobs *j, uint64_t now_us)
{
	struct parts_missing missing = PARTS_MISSING_INIT;
	CLEANUP(freep) char *reason = NULL;
	struct err err = ERR_INIT;
	int r;

	if (j->under_way || j->s->failing)
		return;
	r = store_late_window(j->s->store, now_us - MIN(now_us, JOB_PARTS_US), take_next, j, &err);
	if (r == 0 && j->under_way)
		r = store_trace_parts(j->s->store, j->window, parts_missing_came, &missing, &err);
	if (r == 0 && j->under_way) {
		parts_missing_came(&missing, j->parts + 1);
		reason = xasprintf("of its %" PRId64 " parts, these never arrived: %s", j->parts,
				   strbuf_text(&missing.words));
		end(j, WINDOW_REJECTED, reason, NULL);
	} else if (r < 0) {
		j->under_way = false;
		log_warning("cannot read the parts of a window: %s", err.msg);
	}
	strbuf_release(&missing.words);
}

/* The job whose window is queued, or was analysed. */
static int64_t wanted_by(void *context, int64_t window, bool analysis)
{
	const struct jobs *j = context;
	int64_t job = -1; /* if the store cannot be read, delete nothing */

	(void)store_window_is(j->s->store, window, analysis ? WINDOW_ANALYSED : WINDOW_QUEUED, &job,
			      NULL);
	return job;
}

/* Only durable windows are analysed, so this runs after a commit. */
static void look(struct jobs *j)
{
	struct err err = ERR_INIT;

	if (j->under_way || !j->looking || j->s->closing || remediation_other(j->s))
		return;
	j->looking = false;
	if (store_next_window(j->s->store, take_next, j, &err) < 0)
		log_warning("cannot read the queued windows: %s", err.msg);
	else if (j->under_way)
		start(j);
}

static void on_committing(struct service *s)
{
	if (s->jobs)
		job_live_committing(s->jobs->live);
}

static void on_committed(struct service *s)
{
	struct jobs *j = s->jobs;

	if (!j)
		return;
	if (j->ended) {
		trace_files_drop(&j->files, j->window, j->parts);
		j->counts.windows[j->end]++;
		j->ended = j->under_way = false;
		j->looking = true;
	}
	if (j->sweeping)
		trace_files_sweep(&j->files, wanted_by, j);
	j->sweeping = false;
	job_live_committed(j->live);
	look(j);
}

/* The end of a window was rolled back: analyse it again. */
static void on_failed(struct service *s)
{
	struct jobs *j = s->jobs;

	if (!j)
		return;
	if (j->ended || (!analysis_runs(j->analysis) && !job_pods_asked(j->pods)))
		j->under_way = false;
	j->ended = false;
	j->looking = true;
	job_live_failed(j->live);
}

/* Delete some old data; if there was any, more the next time. */
static void thin(struct jobs *j, uint64_t now_us)
{
	struct err err = ERR_INIT;
	int r = store_thin_jobs(j->s->store, now_us - MIN(now_us, WINDOWS_KEPT_US),
				now_us - MIN(now_us, JOBS_KEPT_US),
				now_us - MIN(now_us, PARTS_KEPT_US), &err);

	if (r == 0)
		r = store_thin_investigations(j->s->store,
					      now_us - MIN(now_us, INVESTIGATIONS_KEPT_US), &err);
	if (r >= 0 &&
	    store_thin_placements(j->s->store, now_us - MIN(now_us, PLACEMENTS_KEPT_US), &err) < 0)
		r = -EIO;
	if (r < 0) {
		service_failed(j->s, &err);
		return;
	}
	if (r > 0)
		j->thin_us = 0;
	j->sweeping = r == 0;
	service_touch(j->s);
}

static void on_tick(struct service *s)
{
	const uint64_t now_us = clock_real_us(), mono_us = clock_mono_us();
	struct jobs *j = s->jobs;

	if (!j)
		return;
	if (!s->failing && mono_us >= j->thin_us) {
		j->thin_us = mono_us + THIN_EVERY_US;
		thin(j, now_us);
	}
	end_late(j, now_us);
	if (!store_dirty(s->store))
		look(j);
}

/* --- begin and end --- */

static int open_jobs(struct service *s, struct err *err)
{
	struct jobs *j = xcalloc(1, sizeof(*j));
	int r = trace_files_open(s->settings->db, &j->files, err);

	j->s = s;
	if (r < 0) {
		free(j);
		return r;
	}
	j->analysis = analysis_new(s->loop, on_analysis, j);
	j->pods = job_pods_new(on_pods, j);
	j->live = job_live_new(s, &j->speeds, &j->files);
	j->looking = true;
	trace_files_sweep(&j->files, wanted_by, j);
	s->jobs = j;
	return 0;
}

static void close_jobs(struct service *s)
{
	struct jobs *j = TAKE(s->jobs);

	if (!j)
		return;
	analysis_free(j->analysis);
	job_pods_free(j->pods);
	job_live_free(j->live);
	job_speeds_release(&j->speeds);
	trace_files_release(&j->files);
	free(j);
}

const struct controller_part jobs_part = {
	.open = open_jobs,
	.tick = on_tick,
	.committing = on_committing,
	.committed = on_committed,
	.failed = on_failed,
	.close = close_jobs,
};

/* --- queries --- */

static int add_windows(struct service *s, int64_t id, json_t *job, struct err *err)
{
	const struct store_range range = { NULL, LATEST_SHOWN };
	struct store_page page = { 0 };
	uint64_t n[WINDOW_STATES];
	int r = store_count_trace_windows(s->store, id, n, err);

	if (r == 0)
		r = store_trace_windows(s->store, id, &range, &page, err);
	if (r < 0)
		return r;
	free(page.next);
	(void)json_object_set_new(job, "latest", page.items);
	(void)json_object_set_new(
		job, "windows",
		json_pack("{s:I, s:I, s:I, s:I}", "analysed", (json_int_t)n[WINDOW_ANALYSED],
			  "rejected", (json_int_t)n[WINDOW_REJECTED], "failed",
			  (json_int_t)n[WINDOW_FAILED], "queued", (json_int_t)n[WINDOW_QUEUED]));
	return 0;
}

static void take_first(void *context, const struct store_trace_window *w)
{
	int64_t *first = context;

	if (*first < 0)
		*first = w->id;
}

/* Add the details that are only in the file, of the last window analysed. */
static int add_analysis(struct service *s, int64_t id, json_t *job, struct err *err)
{
	int64_t window = -1;
	int r = store_analysed_windows(s->store, id, JOB_SUSPECTS_WINDOWS, take_first, &window, err);

	if (r == 0)
		trace_files_show(&s->jobs->files, window, job);
	return r;
}

int jobs_show(struct service *s, int64_t id, json_t **ret, struct err *err)
{
	CLEANUP(json_freep) json_t *job = NULL;
	json_t *advice = NULL;
	int r = store_job(s->store, id, &job, err);

	if (r == 0)
		r = add_windows(s, id, job, err);
	if (r == 0)
		r = add_analysis(s, id, job, err);
	if (r == 0)
		r = job_prediction_show(s->store, &s->rules.policy.jobs, id, clock_real_us(), job,
					err);
	if (r == 0)
		r = job_advice_show(s->store, id, -1, clock_real_us(), &advice, err);
	if (r < 0)
		return r;
	(void)json_object_set_new(job, "advice", advice);
	(void)json_object_set_new(job, "names", json_pack("[O]", json_object_get(job, "job")));
	*ret = TAKE(job);
	return 0;
}

int jobs_analysis(struct service *s, int64_t job, int64_t window, char **ret_text, struct err *err)
{
	CLEANUP(json_freep) json_t *row = NULL;
	int64_t of = 0;
	int r = store_trace_window(s->store, job, window, &row, err);

	if (r == 0)
		r = store_window_is(s->store, window, WINDOW_ANALYSED, &of, err);
	if (r < 0)
		return r;
	/* Until it is analysed, a file with its number is an older one. */
	r = of == job ? trace_files_analysis(&s->jobs->files, window, ret_text, err) : -ENOENT;
	return r == -ENOENT ? err_set(err, ESTALE,
				      "the analysis of window %" PRId64 " is not stored; the "
				      "window is now %s",
				      window, json_string_value(json_object_get(row, "state")))
			    : r;
}

struct jobs_counts jobs_counts(const struct service *s)
{
	struct jobs_counts ret = { .windows = { 0 } };

	if (!s->jobs)
		return ret;
	ret = s->jobs->counts;
	ret.live = job_live_counts(s->jobs->live);
	memcpy(ret.investigations, job_live_investigations(s->jobs->live),
	       sizeof(ret.investigations));
	return ret;
}

int jobs_cancel_investigation(struct service *s, int64_t id, const char *who, const char *reason,
			      json_t **ret, struct err *err)
{
	return job_live_cancel(s->jobs->live, id, who, reason, ret, err);
}

int jobs_diagnose(struct service *s, int64_t job, const struct diagnosis_ask *ask, json_t **ret,
		  struct err *err)
{
	return job_live_diagnose(s->jobs->live, job, ask, ret, err);
}
