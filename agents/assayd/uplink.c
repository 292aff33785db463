/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/uplink.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>

#include <systemd/sd-event.h>

#include "agents/assayd/delivery.h"
#include "agents/assayd/upload_batch.h"
#include "agents/run/spool.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/net/http.h"

#define TIMER_ACCURACY_US (10 * USEC_PER_MSEC)

struct uplink {
	sd_event_source *timer; /* ends the wait */
	struct http *http;
	struct http_request *request; /* running, or NULL */
	char *url;
	struct backoff backoff;
	uint64_t *seqs; /* of the spool, ascending */
	size_t n, at;
	bool changed;  /* the spool has changed since it was listed */
	bool waiting;  /* for the timer */
	bool demanded; /* the controller set the delay */
	bool worked;   /* sent anything since it was last idle */
	bool singly;   /* the controller rejects lines; retried once the spool was empty */
	bool alone;    /* send the next one by itself */
	struct upload_batch batch; /* being sent */
	struct err trouble;
	void (*tell)(void *context);
	void (*want)(void *context, const char *digest);
	void *context;
};

static void send_next(struct uplink *u);

static void tell(const struct uplink *u)
{
	if (u->tell)
		u->tell(u->context);
}

/* Retry later. Only the first error of a kind is logged. */
static void wait_after(struct uplink *u, const struct err *why, uint64_t at_least_us)
{
	const uint64_t wait_us = backoff_fail(&u->backoff, at_least_us, random_u64());
	int r = sd_event_source_set_time(u->timer, clock_mono_us() + wait_us);

	if (r >= 0)
		r = sd_event_source_set_enabled(u->timer, SD_EVENT_ONESHOT);
	if (r < 0)
		log_error("no timer: %s", strerror(-r));
	u->waiting = true;
	u->demanded = at_least_us > 0;
	if (!streq(u->trouble.msg, why->msg)) {
		log_warning("reports wait: %s", why->msg);
		u->trouble = *why;
		tell(u);
	}
}

static void all_well(struct uplink *u)
{
	backoff_reset(&u->backoff);
	if (!u->trouble.msg[0])
		return;
	u->trouble = (struct err)ERR_INIT;
	log_info("reports are being sent again");
	tell(u);
}

static void done(struct uplink *u, uint64_t seq)
{
	struct err err = ERR_INIT;

	/* If removal fails it is sent again, and the controller recognizes it. */
	if (spool_done(seq, &err) < 0)
		log_warning("%s, ignoring", err.msg);
	all_well(u);
}

static void set_aside(struct uplink *u, uint64_t seq, const struct err *why)
{
	struct err err = ERR_INIT;

	log_error("report set aside in spool/bad: %s seq=%" PRIu64, why->msg, seq);
	if (spool_set_aside(seq, why->msg, &err) < 0)
		log_warning("%s, ignoring", err.msg);
	all_well(u);
}

/* Settle the first `n` reports of the batch. */
static void advance(struct uplink *u, size_t n)
{
	if (n == u->batch.n) {
		u->at += u->batch.looked_at;
		return;
	}
	while (u->at < u->n && u->seqs[u->at] <= u->batch.seqs[n - 1])
		u->at++;
}

/* 0 if something was settled; else `why` to wait. */
static int take_answer(struct uplink *u, const struct http_answer *answer, struct err *why)
{
	const uint64_t seq = u->batch.seqs[0];

	switch (delivery_judge(answer->status, answer->body, answer->len, why)) {
	case DELIVERY_DONE:
		done(u, seq);
		break;
	case DELIVERY_SET_ASIDE:
		set_aside(u, seq, why);
		break;
	case DELIVERY_KEEP:
		return -EAGAIN;
	}
	advance(u, 1);
	return 0;
}

static int take_results(struct uplink *u, const struct http_answer *answer, struct err *why)
{
	struct delivery_result results[UPLOAD_BATCH_REPORTS_MAX];
	size_t n = 0, i;

	switch (delivery_judge_lines(answer, u->batch.n, results, &n, why)) {
	case LINES_TAKEN:
		break;
	case LINES_SINGLY:
		u->singly = true;
		return 0;
	case LINES_ALONE:
		u->alone = true;
		return 0;
	case LINES_KEEP:
		return -EAGAIN;
	}
	for (i = 0; i < n; i++) {
		if (results[i].delivery == DELIVERY_DONE)
			done(u, u->batch.seqs[i]);
		else
			set_aside(u, u->batch.seqs[i], &results[i].why);
	}
	advance(u, n);
	return 0;
}

static void give_wants(struct uplink *u, const struct http_answer *answer)
{
	char digests[DELIVERY_WANTS_MAX][TOPOLOGY_DIGEST_LEN + 1];
	size_t n = delivery_wants(answer->body, answer->len, digests), i;

	for (i = 0; u->want && i < n; i++)
		u->want(u->context, digests[i]);
}

static void on_answer(void *context, const struct http_answer *answer)
{
	struct uplink *u = context;
	struct err why = ERR_INIT;
	int r;

	u->request = NULL;
	if (answer->r < 0)
		r = err_set(&why, -answer->r, "%s", answer->why);
	else if (u->batch.n > 1)
		r = take_results(u, answer, &why);
	else
		r = take_answer(u, answer, &why);
	upload_batch_release(&u->batch);
	if (r < 0) {
		wait_after(u, &why, answer->retry_after_us);
		return;
	}
	give_wants(u, answer);
	send_next(u);
}

/* A different path is used for many reports: a controller that does not support it answers 404. */
static int post(struct uplink *u, struct err *err)
{
	static const char *const types[] = { "Content-Type: application/json",
					     "Content-Type: application/x-ndjson" };
	const bool many = u->batch.n > 1;
	const char *const headers[] = { types[many], u->batch.age, u->batch.time,
					u->batch.packed ? "Content-Encoding: gzip" : NULL, NULL };
	CLEANUP(freep)
	char *url = xasprintf("%s/v1/reports%s", u->url, many ? "/batch" : "");
	const struct http_call call = {
		.method = "POST",
		.url = url,
		.headers = headers,
		.body = u->batch.body,
		.body_len = u->batch.body_len,
		.timeout_us = UPLINK_TIMEOUT_US,
		.answer_max = UPLINK_ANSWER_MAX,
		.done = on_answer,
		.context = u,
	};

	return http_send(u->http, &call, &u->request, err);
}

/* False if there is nothing to send. */
static bool list_again(struct uplink *u, struct err *err, int *ret_r)
{
	uint64_t *seqs = NULL;
	size_t n = 0;

	*ret_r = 0;
	if (u->at < u->n)
		return true;
	if (!u->changed)
		return false;
	*ret_r = spool_list(&seqs, &n, err);
	if (*ret_r < 0)
		return true;
	u->changed = false;
	free(u->seqs);
	u->seqs = seqs;
	u->n = n;
	u->at = 0;
	return n > 0;
}

/* Reports are large and rare: free the memory of the last ones. */
static void rest(struct uplink *u)
{
	if (!u->worked)
		return;
	u->worked = u->singly = false;
	free(u->seqs);
	u->seqs = NULL;
	u->n = u->at = 0;
	(void)malloc_trim(0);
	tell(u);
}

static int fill(struct uplink *u, struct err *err)
{
	const bool many = !u->singly && !u->alone;

	u->alone = false;
	return upload_batch_fill(&u->batch, &u->seqs[u->at], u->n - u->at, many, err);
}

static void send_next(struct uplink *u)
{
	struct err err = ERR_INIT;
	int r = 0;

	while (r == 0 && u->batch.n == 0) {
		upload_batch_release(&u->batch);
		if (!list_again(u, &err, &r)) {
			rest(u);
			return;
		}
		u->worked = true;
		if (r == 0)
			r = fill(u, &err);
		if (r == 0 && u->batch.n == 0)
			u->at += u->batch.looked_at; /* all of these have vanished */
	}
	if (r == 0)
		r = post(u, &err);
	if (r < 0) {
		upload_batch_release(&u->batch);
		wait_after(u, &err, 0);
	}
}

static int on_timer(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	struct uplink *u = context;

	u->waiting = false;
	/* Waiting reports may have been dropped for newer ones. */
	u->changed = true;
	u->at = u->n;
	send_next(u);
	return 0;
}

void uplink_kick(struct uplink *u)
{
	u->changed = true;
	if (!u->request && !u->waiting)
		send_next(u);
}

void uplink_hint(struct uplink *u)
{
	uint64_t at_us, soon_us = clock_mono_us() + random_u64() % UPLINK_RETURN_US;

	if (!u->waiting || u->demanded)
		return;
	if (sd_event_source_get_time(u->timer, &at_us) >= 0 && soon_us < at_us)
		(void)sd_event_source_set_time(u->timer, soon_us);
}

size_t uplink_waiting(const struct uplink *u)
{
	return u->n - u->at;
}

const char *uplink_trouble(const struct uplink *u)
{
	return u->trouble.msg;
}

void uplink_free(struct uplink *u)
{
	if (!u)
		return;
	http_cancel(u->request);
	(void)sd_event_source_disable_unref(u->timer);
	upload_batch_release(&u->batch);
	free(u->seqs);
	free(u->url);
	free(u);
}

int uplink_new(struct sd_event *event, const struct uplink_options *options, struct uplink **ret,
	       struct err *err)
{
	struct uplink *u = xcalloc(1, sizeof(*u));
	int r = sd_event_add_time(event, &u->timer, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_US, on_timer,
				  u);

	if (r >= 0)
		r = sd_event_source_set_enabled(u->timer, SD_EVENT_OFF);
	if (r < 0) {
		uplink_free(u);
		return err_errno(err, -r, "cannot create a timer");
	}
	u->http = options->http;
	u->url = xstrdup(options->url);
	u->backoff = options->backoff;
	u->tell = options->changed;
	u->want = options->want;
	u->context = options->context;
	*ret = u;
	return 0;
}
