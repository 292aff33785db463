/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/trace_send.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "agents/assayd/delivery.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/net/http.h"

#define TIMEOUT_US (2 * USEC_PER_MIN)
#define REPORTS_US USEC_PER_SEC	      /* interval of checks whether reports wait */
#define AGE_MAX_US (7 * USEC_PER_DAY) /* the controller's limit */

enum { ANSWER_MAX = 64 * 1024, AGE_SIZE = 64, URL_TEXT_MAX = 2048 };

struct trace_send {
	sd_event_source *timer;
	struct trace_send_options o;
	struct backoff backoff;
	struct trace_queue queue;
	struct http *http;
	const char *url;
	struct http_request *request; /* for `sending` */
	struct trace_queue_part sending;
	void *body; /* mapping of its file while it is being sent */
	size_t body_size;
	struct err told;
};

static void send_next(struct trace_send *s);

static void unmap(struct trace_send *s)
{
	if (s->body)
		(void)munmap(TAKE(s->body), s->body_size);
}

static void end(struct trace_send *s, size_t i, enum trace_refusal why, const char *words)
{
	const struct trace_queue_part part = s->queue.parts[i];

	trace_queue_remove(&s->queue, i);
	s->o.ended(s->o.context, why, &part, words);
	(void)close(part.fd);
}

static void on_dropped(void *context, const struct trace_queue_part *part)
{
	struct trace_send *s = context;

	if (s->request && part->fd == s->sending.fd) {
		http_cancel(TAKE(s->request));
		unmap(s);
	}
	s->o.ended(s->o.context, TRACE_STALE, part, "");
	(void)close(part->fd);
}

static void wake(struct trace_send *s, uint64_t after_us)
{
	if (sd_event_source_set_time(s->timer, clock_mono_us() + after_us) < 0 ||
	    sd_event_source_set_enabled(s->timer, SD_EVENT_ONESHOT) < 0)
		log_error("no timer");
}

static void wait_after(struct trace_send *s, const struct err *why, uint64_t at_least_us)
{
	if (!streq(s->told.msg, why->msg))
		log_warning("trace parts are waiting: %s", why->msg);
	s->told = *why;
	wake(s, backoff_fail(&s->backoff, at_least_us, random_u64()));
}

/* --- the answer --- */

enum outcome { OUTCOME_TAKEN, OUTCOME_REFUSED, OUTCOME_WAITS };

/*
 * 409: another window of the run still waits for parts. 403: the controller does not know yet
 * that the job runs here, or the token is not this host's.
 */
static enum outcome judge(const struct http_answer *answer, struct err *why)
{
	if (answer->r < 0) {
		(void)err_set(why, -answer->r, "%s", answer->why);
		return OUTCOME_WAITS;
	}
	if (answer->status == 200 || answer->status == 202)
		return OUTCOME_TAKEN;
	(void)delivery_judge(answer->status, answer->body, answer->len, why);
	return answer->status == 400 || answer->status == 413 || answer->status == 422
		       ? OUTCOME_REFUSED
		       : OUTCOME_WAITS;
}

static size_t find(const struct trace_send *s, int fd)
{
	size_t i;

	for (i = 0; i < s->queue.n && s->queue.parts[i].fd != fd; i++)
		;
	return i;
}

/* Move it to the end: what blocks one window may not block the next job's. */
static void put_behind(struct trace_send *s, size_t i)
{
	const struct trace_queue_part part = s->queue.parts[i];

	memmove(&s->queue.parts[i], &s->queue.parts[i + 1],
		(s->queue.n - i - 1) * sizeof(s->queue.parts[0]));
	s->queue.parts[s->queue.n - 1] = part;
}

static void on_answer(void *context, const struct http_answer *answer)
{
	struct trace_send *s = context;
	const size_t i = find(s, s->sending.fd);
	struct err why = ERR_INIT;
	enum outcome outcome = judge(answer, &why);

	s->request = NULL;
	unmap(s);
	if (outcome == OUTCOME_WAITS && clock_mono_us() > s->sending.since_us + TRACE_SEND_OLD_US)
		outcome = OUTCOME_REFUSED;
	if (outcome == OUTCOME_WAITS) {
		if (answer->r == 0)
			put_behind(s, i);
		wait_after(s, &why, answer->retry_after_us);
		return;
	}
	s->told = (struct err)ERR_INIT;
	backoff_reset(&s->backoff);
	end(s, i, outcome == OUTCOME_TAKEN ? TRACE_TAKEN : TRACE_REFUSED, why.msg);
	send_next(s);
}

/* --- the call --- */

/* Names contain "/", ":" and "+". */
static void add_escaped(struct strbuf *url, const char *text)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

	for (; *text; text++)
		(void)strbuf_printf(url, strchr(plain, *text) ? "%c" : "%%%02X",
				    (unsigned char)*text);
}

/* Present age of its steps; nothing if unknown. */
static bool say_ages(const struct trace_queue_part *p, char ret_first[static AGE_SIZE],
		     char ret_last[static AGE_SIZE])
{
	const uint64_t now_us = clock_boot_us();

	if (!p->first_us || p->last_us > now_us || now_us - p->first_us > AGE_MAX_US)
		return false;
	(void)snprintf(ret_first, AGE_SIZE, "Assay-First-Step-Age: %.6f",
		       (double)(now_us - p->first_us) / USEC_PER_SEC);
	(void)snprintf(ret_last, AGE_SIZE, "Assay-Last-Step-Age: %.6f",
		       (double)(now_us - p->last_us) / USEC_PER_SEC);
	return true;
}

/* Map the file: nothing is copied, and the kernel can reclaim the pages. */
static int map(struct trace_send *s, const struct trace_queue_part *p, struct err *err)
{
	s->body_size = p->offset + p->size;
	s->body = mmap(NULL, s->body_size, PROT_READ, MAP_PRIVATE, p->fd, 0);
	if (s->body != MAP_FAILED)
		return 0;
	s->body = NULL;
	return err_errno(err, errno, "cannot read a part");
}

static int post(struct trace_send *s, const struct trace_queue_part *p, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf url = STRBUF_INIT(URL_TEXT_MAX);
	char first[AGE_SIZE] = "", last[AGE_SIZE] = "";
	const bool dated = say_ages(p, first, last);
	const char *const headers[] = { "Content-Type: application/octet-stream",
					dated ? first : NULL, last, NULL };
	struct http_call call = { .method = "POST",
				  .headers = headers,
				  .timeout_us = TIMEOUT_US,
				  .answer_max = ANSWER_MAX,
				  .done = on_answer,
				  .context = s };
	int r = map(s, p, err);

	if (r < 0)
		return r;
	(void)strbuf_printf(&url, "%s/v1/traces?job=", s->url);
	add_escaped(&url, p->job);
	(void)strbuf_printf(&url, "&run=%" PRId64 "&part=%u&of=%u", p->run, p->part, p->of);
	call.url = strbuf_text(&url);
	call.body = (const char *)s->body + p->offset;
	call.body_len = p->size;
	s->sending = *p;
	return http_send(s->http, &call, &s->request, err);
}

static void send_next(struct trace_send *s)
{
	struct err err = ERR_INIT;

	if (s->request || !s->http || s->queue.n == 0)
		return;
	if (!s->o.may_send(s->o.context)) {
		wake(s, REPORTS_US);
		return;
	}
	if (post(s, &s->queue.parts[0], &err) < 0) {
		unmap(s);
		wait_after(s, &err, 0);
	}
}

static int on_timer(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	send_next(context);
	return 0;
}

enum trace_refusal trace_send_add(struct trace_send *s, const struct trace_queue_part *part)
{
	const enum trace_refusal why = trace_queue_add(&s->queue, part, on_dropped, s);
	int enabled = SD_EVENT_OFF;

	/* A running delay is not cut short. */
	if (why == TRACE_TAKEN &&
	    (sd_event_source_get_enabled(s->timer, &enabled) < 0 || enabled == SD_EVENT_OFF))
		send_next(s);
	return why;
}

void trace_send_keep(struct trace_send *s, uint64_t bytes)
{
	s->queue.bytes_max = bytes;
}

size_t trace_send_waiting(const struct trace_send *s)
{
	return s->queue.n;
}

/* --- life cycle --- */

void trace_send_to(struct trace_send *s, struct http *http, const char *url)
{
	http_cancel(TAKE(s->request));
	unmap(s);
	s->http = http;
	s->url = url;
	send_next(s);
}

void trace_send_free(struct trace_send *s)
{
	size_t i;

	if (!s)
		return;
	http_cancel(s->request);
	unmap(s);
	for (i = 0; i < s->queue.n; i++)
		(void)close(s->queue.parts[i].fd);
	trace_queue_release(&s->queue);
	(void)sd_event_source_disable_unref(s->timer);
	free(s);
}

struct trace_send *trace_send_new(struct sd_event *event, const struct trace_send_options *options)
{
	struct trace_send *s = xcalloc(1, sizeof(*s));

	s->o = *options;
	s->backoff = options->backoff;
	if (sd_event_add_time(event, &s->timer, CLOCK_MONOTONIC, 0, 0, on_timer, s) < 0 ||
	    sd_event_source_set_enabled(s->timer, SD_EVENT_OFF) < 0)
		log_error("cannot create a timer: trace parts are not sent");
	return s;
}
