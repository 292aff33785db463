/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/routes/routes_jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/job/beats.h"
#include "controller/job/hangs.h"
#include "controller/job/jobs.h"
#include "controller/job/trace_files.h"
#include "controller/routes/routes.h"
#include "controller/store/store.h"
#include "controller/store/store_jobs.h"
#include "controller/store/store_placements.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/glob.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* Older steps say nothing about the present job. */
#define AGE_MAX_US (7 * USEC_PER_DAY)

/* --- receiving a trace --- */

/* An integer argument, `usual` if missing; -EINVAL unless it is from 1 to `most`. */
static int number_of(const struct call *call, const char *name, int64_t usual, int64_t most,
		     int64_t *ret, struct err *err)
{
	const char *text = call_argument(call, name);
	char *end = NULL;
	long long value;

	*ret = usual;
	if (!text)
		return 0;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || end == text || *end || value < 1 || value > most)
		return err_set(err, EINVAL, "%s: expected a number from 1 to %" PRId64, name, most);
	*ret = value;
	return 0;
}

/* Converts a header with an age in seconds to a time by our clock; 0: missing. */
static int time_of(const struct call *call, const char *name, uint64_t now_us, uint64_t *ret,
		   struct err *err)
{
	const char *text = call_header(call, name);
	char *end = NULL;
	double age_s;

	*ret = 0;
	if (!text)
		return 0;
	errno = 0;
	age_s = strtod(text, &end);
	if (errno || end == text || *end || !(age_s >= 0) ||
	    age_s > (double)AGE_MAX_US / USEC_PER_SEC)
		return err_set(err, EINVAL, "%s: expected an age in seconds, of at most 7 days",
			       name);
	*ret = now_us - (uint64_t)(age_s * USEC_PER_SEC);
	return 0;
}

static int read_times(const struct call *call, struct jobs_window *w, struct err *err)
{
	static const char first[] = "Assay-First-Step-Age", last[] = "Assay-Last-Step-Age";
	const uint64_t now_us = clock_real_us();
	int r = time_of(call, first, now_us, &w->from_us, err);

	if (r == 0)
		r = time_of(call, last, now_us, &w->until_us, err);
	if (r == 0 && (!w->from_us != !w->until_us || w->until_us < w->from_us))
		r = err_set(err, EINVAL, "expected %s and %s, the first at least as old, or neither",
			    first, last);
	return r;
}

static int read_parts(const struct call *call, struct jobs_window *w, struct err *err)
{
	int r = number_of(call, "of", 1, TRACE_PARTS_MAX, &w->of, err);

	return r < 0 ? r : number_of(call, "part", 1, w->of, &w->part, err);
}

int routes_jobs_of(const struct call *call, const char **ret_job, int64_t *ret_run, struct err *err)
{
	const char *job = call_argument(call, "job");

	if (!job || !jobs_name_ok(job))
		return err_set(err, EINVAL,
			       "job: expected a name of 1 to %d letters, digits and ._-/:@+=",
			       JOB_NAME_MAX);
	*ret_job = job;
	return number_of(call, "run", 1, JOB_RUN_MAX, ret_run, err);
}

/* The parameters of the request, all borrowed from the call. */
static int read_window(const struct call *call, struct jobs_window *ret, struct err *err)
{
	const char *meta = call_argument(call, "meta");
	bool gzip;
	int r;

	*ret = (struct jobs_window){ .meta = meta };
	r = routes_jobs_of(call, &ret->job, &ret->run, err);
	if (r < 0)
		return r;
	if (meta && (!*meta || strlen(meta) > TRACE_META_MAX))
		return err_set(err, EINVAL, "meta: expected YAML of at most %d bytes",
			       TRACE_META_MAX);
	ret->bytes = call_body(call, &ret->length, &gzip);
	if (ret->length == 0)
		return err_set(err, EINVAL, "the body is empty: expected a trace");
	r = read_parts(call, ret, err);
	return r < 0 ? r : read_times(call, ret, err);
}

/* Hosts may act for jobs that, by their own reports, have ranks on them. */
static bool may_host_send(struct service *s, struct call *call, const char *job)
{
	const char *node = call_identity(call)->node;
	struct err err = ERR_INIT;
	bool there = false;

	if (store_has_placement(s->store, job, node, &there, &err) < 0) {
		refuse_store(call, -EIO, &err);
		return false;
	}
	if (!there)
		call_refuse(call, 403, "no rank of '%.80s' is known to run on '%.80s'", job, node);
	return there;
}

bool routes_jobs_may_send(struct service *s, struct call *call, const char *job, const char *what)
{
	const struct identity *who = call_identity(call);

	if (who->role == ROLE_NODE)
		return may_host_send(s, call, job);
	if (who->role != ROLE_SUBMIT || (who->jobs && glob_match(who->jobs, job)))
		return true;
	call_refuse(call, 403, "this token may not send %s for '%.80s'", what, job);
	return false;
}

static void refuse_window(struct service *s, struct call *call, int r,
			  const struct jobs_queued *queued, const struct err *err)
{
	if (r == -EAGAIN) {
		call_retry_within(call, queued->wait_s);
		call_refuse(call, 429, "%s", err->msg);
		return;
	}
	if (r == -EEXIST || r == -E2BIG) {
		call_refuse(call, r == -EEXIST ? 409 : 413, "%s", err->msg);
		return;
	}
	if (r != -EDQUOT)
		service_failed(s, err);
	call_refuse(call, 503, "the trace could not be stored: %s", err->msg);
}

void routes_jobs_post_trace(void *context, struct call *call)
{
	struct waiting waiting = { .call = call };
	struct service *s = context;
	struct jobs_queued queued;
	struct jobs_window window;
	struct err err = ERR_INIT;
	int r;

	if (stands_by(s, call))
		return;
	r = read_window(call, &window, &err);
	if (r < 0) {
		call_refuse(call, 400, "%s", err.msg);
		return;
	}
	if (!routes_jobs_may_send(s, call, window.job, "traces"))
		return;
	if (service_full(s)) {
		call_refuse(call, 503, "too many requests at once");
		return;
	}
	window.bound = call_identity(call)->role <= ROLE_SUBMIT;
	r = jobs_take(s, &window, &queued, &err);
	if (r < 0) {
		refuse_window(s, call, r, &queued, &err);
		return;
	}
	waiting.status = queued.known ? 200 : 202;
	waiting.answer = json_pack("{s:s, s:o, s:I, s:I, s:s, s:I, s:I}", "job", window.job, "id",
				   json_sprintf("j%" PRId64, queued.job), "run",
				   (json_int_t)window.run, "window", (json_int_t)queued.window,
				   "state", window_state_names[queued.state], "parts",
				   (json_int_t)queued.came, "of", (json_int_t)window.of);
	/* A duplicate may not be durable yet: wait, too. */
	service_wait(s, &waiting);
}

/* --- queries --- */

/* Add state that is not stored: heartbeats and hangs. */
static void show_now(const struct service *s, const json_t *jobs)
{
	json_t *job;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)jobs, i, job)
	{
		beats_show(s, job);
		hangs_show(s, job);
	}
}

void routes_jobs_list(void *context, struct call *call)
{
	struct service *s = context;
	struct store_page page = { 0 };
	struct store_range range;
	struct err err = ERR_INIT;
	int r;

	if (!routes_range_of(call, CURSOR_NUMBER, &range))
		return;
	r = store_jobs(s->store, call_argument(call, "name"), &range, &page, &err);
	if (r < 0) {
		refuse_store(call, r, &err);
	} else {
		show_now(s, page.items);
		reply_page(call, &page);
	}
}

int routes_jobs_number(const struct call *call, int64_t *ret, struct err *err)
{
	const char *text = call_segment(call);
	char *end = NULL;
	long long id;

	errno = 0;
	id = text[0] == 'j' ? strtoll(text + 1, &end, 10) : 0;
	if (errno || !end || end == text + 1 || *end || id < 1)
		return err_set(err, ENOENT, "no job '%.40s': its id is one of /v1/jobs?name=NAME",
			       text);
	*ret = id;
	return 0;
}

void routes_jobs_show(void *context, struct call *call)
{
	struct service *s = context;
	struct err err = ERR_INIT;
	json_t *job = NULL;
	int64_t id;
	int r = routes_jobs_number(call, &id, &err);

	if (r == 0)
		r = jobs_show(s, id, &job, &err);
	if (r < 0) {
		refuse_store(call, r, &err);
	} else {
		beats_show(s, job);
		hangs_show(s, job);
		call_reply(call, 200, job);
	}
}

void routes_jobs_windows(void *context, struct call *call)
{
	CLEANUP(json_freep) json_t *job = NULL;
	struct service *s = context;
	struct store_page page = { 0 };
	struct store_range range;
	struct err err = ERR_INIT;
	int64_t id;
	int r = routes_jobs_number(call, &id, &err);

	if (r == 0)
		r = store_job(s->store, id, &job, &err); /* a job without windows is not an error */
	if (r < 0) {
		refuse_store(call, r, &err);
		return;
	}
	if (!routes_range_of(call, CURSOR_NUMBER, &range))
		return;
	r = store_trace_windows(s->store, id, &range, &page, &err);
	if (r < 0)
		refuse_store(call, r, &err);
	else
		reply_page(call, &page);
}

void routes_jobs_window(void *context, struct call *call)
{
	const char *text = api_second_segment(call);
	struct service *s = context;
	struct err err = ERR_INIT;
	char *analysis = NULL, *end = NULL;
	long long window;
	int64_t id;
	int r = routes_jobs_number(call, &id, &err);

	errno = 0;
	window = strtoll(text, &end, 10);
	if (r == 0 && (errno || end == text || *end))
		r = err_set(&err, ENOENT, "no window '%.40s'", text);
	if (r == 0)
		r = jobs_analysis(s, id, window, &analysis, &err);
	if (r == -ESTALE)
		call_refuse(call, 410, "%s", err.msg);
	else if (r < 0)
		refuse_store(call, r, &err);
	else
		call_reply_text(call, 200, "application/json", analysis);
}
