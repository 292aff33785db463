/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assayctl job submit TRACE: uploads a trace, retrying while the controller is busy and there is
 * time; with --wait, also shows the result.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/job_name.h"
#include "cli/job_words.h"
#include "cli/link.h"
#include "cli/patience.h"
#include "cli/trace_file.h"
#include "cli/view.h"
#include "cli/view_job.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum {
	META_MAX = 2048, /* bytes: the controller's limit */
	PATH_MOST = 3000,
	WINDOWS_LOOKED_AT = 100, /* the newest: more than can wait for analysis */
};

#define LOOK_EVERY_US (500 * USEC_PER_MSEC)
#define TICK_US (200 * USEC_PER_MSEC)

struct submit {
	struct link *link;
	const struct request *request;
	char *bytes, *path; /* owned */
	size_t len;
	uint64_t started_us, deadline_us;
	struct patience patience;
};

static void submit_release(struct submit *s)
{
	patience_end(&s->patience);
	free(s->bytes);
	free(s->path);
}

/* --- request --- */

/* "&KEY=N", or "" for 0. The caller frees it. */
static char *number_part(const char *key, uint64_t n)
{
	return n ? xasprintf("&%s=%llu", key, (unsigned long long)n) : xstrdup("");
}

/*
 * "&meta=..." from the file, after checking that it is YAML; "" without one. The caller frees it.
 */
static int meta_part(const char *file, char **ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	CLEANUP(freep) char *text = NULL;
	CLEANUP(freep) char *encoded = NULL;
	size_t len = 0;
	int r;

	if (!file) {
		*ret = xstrdup("");
		return 0;
	}
	r = file_read(AT_FDCWD, file, JSON_PEOPLE_FILE_MAX, &text, &len, err);
	if (r == 0)
		r = yaml_parse(text, len, file, &value, err);
	if (r < 0)
		return -EINVAL;
	encoded = link_segment(text);
	if (len > META_MAX || strlen(encoded) > PATH_MOST)
		return err_set(err, EINVAL,
			       "%s: too long: %zu bytes, and %zu in a URL; at most %d and %d: omit "
			       "comments and ranks",
			       file, len, strlen(encoded), META_MAX, PATH_MOST);
	*ret = xasprintf("&meta=%s", encoded);
	return 0;
}

static int make_path(struct submit *s, struct err *err)
{
	const struct settings *settings = &s->request->settings;
	CLEANUP(freep) char *job = link_segment(settings->job);
	CLEANUP(freep) char *run = number_part("run", settings->run);
	CLEANUP(freep) char *part = number_part("part", settings->part.k);
	CLEANUP(freep) char *of = number_part("of", settings->part.of);
	CLEANUP(freep) char *meta = NULL;
	int r = meta_part(settings->meta_file, &meta, err);

	if (r == 0)
		s->path = xasprintf("/v1/traces?job=%s%s%s%s%s", job, run, part, of, meta);
	return r;
}

/* --- sending --- */

/* Computed for each attempt, since ages grow while we wait. */
static void put_ages(const struct submit *s, char **ret_first, char **ret_last)
{
	const struct submit_ages *ages = &s->request->settings.ages;
	double since_s = (double)(clock_mono_us() - s->started_us) / 1e6;

	*ret_first = xasprintf("Assay-First-Step-Age: %.3f", ages->first_s + since_s);
	*ret_last = xasprintf("Assay-Last-Step-Age: %.3f", ages->last_s + since_s);
}

static int send_once(struct submit *s, struct link_sent *ret, struct err *err)
{
	CLEANUP(freep) char *first = NULL;
	CLEANUP(freep) char *last = NULL;
	const char *headers[3] = { NULL };
	const struct link_sending what = {
		.path = s->path,
		.type = "application/octet-stream",
		.headers = headers,
		.bytes = s->bytes,
		.len = s->len,
		.tick = patience_tick,
		.context = &s->patience,
	};

	put_ages(s, &first, &last);
	if (!isnan(s->request->settings.ages.first_s)) {
		headers[0] = first;
		headers[1] = last;
	}
	link_begin_until(s->link,
			 MIN(s->deadline_us, clock_mono_us() + s->request->settings.timeout_us));
	return link_send(s->link, &what, ret, err);
}

static void wait_until(struct submit *s, uint64_t until_us)
{
	while (clock_left_us(until_us) > 0) {
		(void)link_wait(s->link, MIN(until_us, clock_mono_us() + TICK_US));
		patience_tick(&s->patience);
	}
}

/* Retry while the controller is busy and says when to come back, until the deadline. */
static int send_patiently(struct submit *s, json_t **ret, struct err *err)
{
	for (;;) {
		struct link_sent sent = { 0 };
		int r = send_once(s, &sent, err);
		uint64_t again_us = clock_mono_us() + MAX(sent.retry_after_us, USEC_PER_SEC);

		if (r == 0) {
			*ret = sent.value;
			if (sent.status == 200)
				(void)json_object_set_new(*ret, "known", json_true());
			return 0;
		}
		if (r == -EINVAL && sent.status == 413)
			return err_set(err, EINVAL,
				       "the controller refuses a trace this large (%zu bytes): "
				       "compress it, or send it in parts with --part K/M",
				       s->len);
		if (r != -EAGAIN || again_us >= s->deadline_us)
			return job_name_explain(r, err);
		s->patience.words = "the controller is busy";
		wait_until(s, again_us);
	}
}

/* --- waiting for the result --- */

/* The submitted window in its present state; NULL: not among the newest. */
static int look_at(struct submit *s, const char *id, json_int_t number, json_t **ret,
		   struct err *err)
{
	CLEANUP(freep) char *segment = link_segment(id);
	CLEANUP(freep)
	char *path = xasprintf("/v1/jobs/%s/windows?limit=%d", segment, WINDOWS_LOOKED_AT);
	CLEANUP(json_freep) json_t *page = NULL;
	const json_t *items;
	size_t i;
	int r;

	link_begin_until(s->link,
			 MIN(s->deadline_us, clock_mono_us() + s->request->settings.timeout_us));
	r = link_get(s->link, path, &page, err);
	if (r < 0)
		return r;
	items = json_object_get(page, "items");
	for (i = 0; i < json_array_size(items); i++) {
		json_t *window = json_array_get(items, i);

		if (json_integer_value(json_object_get(window, "id")) == number) {
			*ret = json_incref(window);
			return 0;
		}
	}
	return 0;
}

/* 1: analysed; 0: not yet; -EPERM: it will not be, with the reason. */
static int verdict_of(const json_t *window, json_int_t number, struct err *err)
{
	CLEANUP(freep) char *state = text_at(window, "state");
	CLEANUP(freep) char *reason = text_at(window, "reason");

	if (streq(state, "analysed"))
		return 1;
	if (streq(state, "rejected") || streq(state, "failed"))
		return err_set(err, EPERM, "window %" JSON_INTEGER_FORMAT "%s: %s", number,
			       streq(state, "failed") ? " could not be analysed" : " was rejected",
			       reason);
	return 0;
}

/* Is it still the same window? Numbers are only unique within a controller's store. */
static int check_same(const json_t *window, json_int_t number, char **received, struct err *err)
{
	CLEANUP(freep) char *now = text_at(window, "received");

	if (*received && !streq(*received, now))
		return err_set(err, EPERM,
			       "window %" JSON_INTEGER_FORMAT
			       " was accepted by a controller that has since been replaced: send "
			       "the trace again",
			       number);
	if (window && !*received)
		*received = TAKE(now);
	return 0;
}

static int wait_for_it(struct submit *s, const json_t *answer, struct err *err)
{
	const json_int_t number = json_integer_value(json_object_get(answer, "window"));
	const char *id = raw_at(answer, "id");
	CLEANUP(freep) char *received = NULL;

	s->patience.words = "waiting to be analysed";
	for (;;) {
		CLEANUP(json_freep) json_t *window = NULL;
		int r = look_at(s, id, number, &window, err);

		if (r < 0 && r != -EAGAIN)
			return err_wrap(err, r, "window %" JSON_INTEGER_FORMAT " was taken", number);
		if (r == 0)
			r = check_same(window, number, &received, err);
		if (r == 0)
			r = verdict_of(window, number, err);
		if (r == -EPERM)
			return r;
		if (r > 0)
			return 0;
		if (clock_left_us(s->deadline_us) <= LOOK_EVERY_US)
			return err_set(err, ETIMEDOUT,
				       "window %" JSON_INTEGER_FORMAT
				       " is not analysed yet; `assayctl job %.32s` will say more",
				       number, id);
		wait_until(s, clock_mono_us() + LOOK_EVERY_US);
	}
}

static int check_answer(const json_t *answer, struct err *err)
{
	if (json_is_integer(json_object_get(answer, "window")) && *raw_at(answer, "id"))
		return 0;
	return err_set(err, EBADMSG, "the answer names no window; is this a controller?");
}

static int run_steps(struct submit *s, json_t **ret, struct err *err)
{
	CLEANUP(json_freep) json_t *answer = NULL;
	int r = make_path(s, err);

	if (r == 0)
		r = trace_file_read(s->request->argument, &s->bytes, &s->len, err);
	if (r == 0)
		r = send_patiently(s, &answer, err);
	if (r == 0)
		r = check_answer(answer, err);
	if (r < 0)
		return r;
	if (!s->request->settings.wait_us) {
		*ret = TAKE(answer);
		return 0;
	}
	r = wait_for_it(s, answer, err);
	if (r < 0)
		return r;
	link_begin(s->link);
	return view_job_fetch(s->link, raw_at(answer, "id"), ret, err);
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	const uint64_t now_us = clock_mono_us();
	CLEANUP(submit_release)
	struct submit s = {
		.link = link,
		.request = request,
		.started_us = now_us,
		.deadline_us = now_us + MAX(request->settings.timeout_us, request->settings.wait_us),
		.patience = patience_start("sending the trace"),
	};

	return run_steps(&s, &ret->document, err);
}

/* --- output --- */

static bool is_answer(const json_t *document)
{
	return json_is_integer(json_object_get(document, "window"));
}

/* "; 3 of 8 parts are there", or "". The caller frees it. */
static char *parts_of(const json_t *answer)
{
	double parts = number_at(answer, "parts"), of = number_at(answer, "of");

	return of > 1 ? xasprintf("; %.0f of %.0f parts have arrived", parts, of) : xstrdup("");
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	const json_t *d = picture->document;
	CLEANUP(freep) char *name = text_at(d, "job");
	CLEANUP(freep) char *id = text_at(d, "id");
	CLEANUP(freep) char *run = job_words_count(d, "run");
	CLEANUP(freep) char *window = job_words_count(d, "window");
	CLEANUP(freep) char *state = text_at(d, "state");
	CLEANUP(freep) char *parts = parts_of(d);
	bool known = json_is_true(json_object_get(d, "known"));

	if (!is_answer(d)) {
		CLEANUP(freep) char *head = view_job_head(d);

		return xasprintf("%s: %s", head, state);
	}
	return xasprintf("%s (%s), run %s: window %s %s %s%s; `assayctl job %s` shows the job",
			 name, id, run, window, known ? "was sent before, and is" : "is", state,
			 parts, id);
}

static void show(const struct picture *picture, struct page *page)
{
	if (!is_answer(picture->document))
		view_job_show(picture->document, page);
}

const struct view view_submit = { fetch, summary, show, NULL };
