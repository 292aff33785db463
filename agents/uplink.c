/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/uplink.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>

#include <systemd/sd-event.h>

#include "agents/delivery.h"
#include "agents/gzip.h"
#include "agents/spool.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "lib/http.h"
#include "lib/log.h"
#include "lib/random.h"
#include "lib/xalloc.h"

/* Below this a packed report is hardly smaller. */
enum { GZIP_MIN = 1024 };

#define TIMER_ACCURACY_US (10 * USEC_PER_MSEC)

struct uplink {
	sd_event_source *timer; /* end of the wait */
	struct http *http;
	struct http_request *request; /* under way, or NULL */
	char *url;
	struct backoff backoff;
	uint64_t *seqs; /* of the spool, ascending */
	size_t n, at;
	bool changed;  /* the spool, since it was listed */
	bool waiting;  /* for the timer */
	bool demanded; /* the controller named the wait */
	bool worked;   /* since it was last idle */
	char *body;    /* being sent */
	size_t body_len;
	bool packed;
	struct err trouble;
	void (*tell)(void *context);
	void *context;
};

static void send_next(struct uplink *u);

static void tell(const struct uplink *u)
{
	if (u->tell)
		u->tell(u->context);
}

static void drop_body(struct uplink *u)
{
	free(u->body);
	u->body = NULL;
	u->body_len = 0;
}

/* Try again later. The first of a kind is told, the next ones are more of the same. */
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
	log_info("reports leave again");
	tell(u);
}

static void done(struct uplink *u)
{
	struct err err = ERR_INIT;

	/* Still there after a failure: sent again, and known to the controller. */
	if (spool_done(u->seqs[u->at], &err) < 0)
		log_warning("%s, ignoring", err.msg);
	u->at++;
	all_well(u);
}

static void set_aside(struct uplink *u, const struct err *why)
{
	const uint64_t seq = u->seqs[u->at++];
	struct err err = ERR_INIT;

	log_error("report set aside in spool/bad: %s seq=%" PRIu64, why->msg, seq);
	if (spool_set_aside(seq, &err) < 0)
		log_warning("%s, ignoring", err.msg);
	all_well(u);
}

static void on_answer(void *context, const struct http_answer *answer)
{
	struct uplink *u = context;
	struct err why = ERR_INIT;

	u->request = NULL;
	drop_body(u);
	if (answer->r < 0) {
		(void)err_set(&why, -answer->r, "%s", answer->why);
		wait_after(u, &why, 0);
		return;
	}
	switch (delivery_judge(answer->status, answer->body, answer->len, &why)) {
	case DELIVERY_DONE:
		done(u);
		send_next(u);
		break;
	case DELIVERY_SET_ASIDE:
		set_aside(u, &why);
		send_next(u);
		break;
	case DELIVERY_KEEP:
		wait_after(u, &why, answer->retry_after_us);
		break;
	}
}

/* Read the report at hand. 0; 1 when it is gone or was no report; negative: later. */
static int read_report(struct uplink *u, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	const uint64_t seq = u->seqs[u->at];
	size_t len;
	int r = spool_read(seq, &text, &len, err);

	if (r == -ENOENT)
		return 1;
	if (r == -EINVAL || r == -EFBIG) {
		log_error("no report, set aside in spool/bad: %s seq=%" PRIu64, err->msg, seq);
		*err = (struct err)ERR_INIT;
		return 1;
	}
	if (r < 0)
		return r;
	u->packed = len >= GZIP_MIN && gzip_pack(text, len, &u->body, &u->body_len) == 0;
	if (!u->packed) {
		u->body = TAKE(text);
		u->body_len = len;
	}
	return 0;
}

static int post(struct uplink *u, struct err *err)
{
	static const char *const plain[] = { "Content-Type: application/json", NULL };
	static const char *const packed[] = { "Content-Type: application/json",
					      "Content-Encoding: gzip", NULL };
	CLEANUP(freep) char *url = xasprintf("%s/v1/reports", u->url);
	const struct http_call call = {
		.method = "POST",
		.url = url,
		.headers = u->packed ? packed : plain,
		.body = u->body,
		.body_len = u->body_len,
		.timeout_us = UPLINK_TIMEOUT_US,
		.answer_max = UPLINK_ANSWER_MAX,
		.done = on_answer,
		.context = u,
	};

	return http_send(u->http, &call, &u->request, err);
}

/* False when there is nothing to send. */
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

/* Reports are large and rare: give back what the last ones took. */
static void rest(struct uplink *u)
{
	if (!u->worked)
		return;
	u->worked = false;
	free(u->seqs);
	u->seqs = NULL;
	u->n = u->at = 0;
	(void)malloc_trim(0);
	tell(u);
}

static void send_next(struct uplink *u)
{
	struct err err = ERR_INIT;
	int r;

	do {
		if (!list_again(u, &err, &r)) {
			rest(u);
			return;
		}
		u->worked = true;
		if (r == 0)
			r = read_report(u, &err);
		if (r == 1)
			u->at++;
	} while (r == 1);
	if (r == 0)
		r = post(u, &err);
	if (r < 0) {
		drop_body(u);
		wait_after(u, &err, 0);
	}
}

static int on_timer(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	struct uplink *u = context;

	u->waiting = false;
	/* What waited may have been given up for newer reports. */
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
	drop_body(u);
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
		return err_errno(err, -r, "cannot make a timer");
	}
	u->http = options->http;
	u->url = xstrdup(options->url);
	u->backoff = options->backoff;
	u->tell = options->changed;
	u->context = options->context;
	*ret = u;
	return 0;
}
