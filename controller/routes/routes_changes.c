/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/routes/routes_changes.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/actions/remediation.h"
#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/http/api_body.h"
#include "controller/routes/fleet_answer.h"
#include "controller/routes/fleet_feed.h"
#include "controller/routes/routes.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"

enum {
	WAIT_DEFAULT_S = 30,
	WAIT_MAX_S = 60,
	HOLDS_MAX = 100,
};

#define WAIT_ACCURACY_US (100 * USEC_PER_MSEC)
#define STEP_ACCURACY_US (10 * USEC_PER_MSEC)

/* Without requests for this long the view is freed. */
#define IDLE_US (5 * USEC_PER_MIN)

/* A held call. */
struct watcher {
	struct watcher *next;
	struct service *service;
	struct call *call;
	sd_event_source *timer; /* NULL: waiting for the initial read */
	uint64_t since;
	bool whole; /* it wants all hosts */
};

/* Exists while somebody is watching. */
struct fleet_watch {
	struct fleet_feed *feed;
	struct fleet_answer answer;
	sd_event_source *timer;
	struct watcher *watchers;
	unsigned n;
	uint64_t asked_us; /* monotonic; the last request */
};

unsigned routes_changes_held(const struct service *s)
{
	return s->fleet_watch ? s->fleet_watch->n : 0;
}

/* --- held calls --- */

/* Remove it; the caller has to answer its call. */
static struct call *let_go(struct watcher *watcher)
{
	struct fleet_watch *w = watcher->service->fleet_watch;
	struct watcher **place = &w->watchers;
	struct call *call = watcher->call;

	while (*place != watcher)
		place = &(*place)->next;
	*place = watcher->next;
	w->n--;
	(void)sd_event_source_disable_unref(watcher->timer);
	free(watcher);
	return call;
}

static void reply(struct call *call, struct api_body *body)
{
	if (body)
		api_body_reply(call, body);
	else
		call_refuse(call, 503, "the fleet is too large to be sent at once");
}

/* Answer it with the current data. */
static void end(struct watcher *watcher)
{
	struct fleet_watch *w = watcher->service->fleet_watch;
	const bool whole = watcher->whole;
	const uint64_t since = watcher->since;
	struct call *call = let_go(watcher);
	struct api_body *body = whole ? api_body_again(fleet_answer_whole(&w->answer, w->feed))
				      : fleet_answer_since(&w->answer, w->feed, since);

	reply(call, body);
	api_body_free(body);
}

static void end_all(struct fleet_watch *w, bool newer)
{
	struct watcher *watcher, *next;

	for (watcher = w->watchers; watcher; watcher = next) {
		next = watcher->next;
		if (watcher->whole || (newer && watcher->since < w->answer.version))
			end(watcher);
	}
}

static void on_gone(void *context UNUSED, struct call *call)
{
	call_reply_empty(let_go(call_data(call)), 204);
}

/* Timeout: answer that nothing has changed. */
static int on_time(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	struct watcher *watcher = context;
	struct fleet_watch *w = watcher->service->fleet_watch;

	if (w->feed->read) {
		(void)fleet_answer_look(&w->answer, w->feed, clock_mono_us());
		end(watcher);
	} else {
		call_refuse(let_go(watcher), 503, "the hosts are still being read");
	}
	return 0;
}

static void hold(struct service *s, struct call *call, const struct watcher *asked, uint64_t wait_us)
{
	struct fleet_watch *w = s->fleet_watch;
	struct watcher *watcher;

	if (w->n >= HOLDS_MAX) {
		call_refuse(call, 503, "%d calls are already waiting for changes of the fleet",
			    HOLDS_MAX);
		return;
	}
	watcher = xcalloc(1, sizeof(*watcher));
	*watcher = *asked;
	watcher->service = s;
	watcher->call = call;
	watcher->next = w->watchers;
	w->watchers = watcher;
	w->n++;
	call_hold(call, on_gone, watcher);
	if (sd_event_add_time_relative(s->loop, &watcher->timer, CLOCK_MONOTONIC, wait_us,
				       WAIT_ACCURACY_US, on_time, watcher) < 0)
		call_refuse(let_go(watcher), 503, "out of memory");
}

/* --- the watch --- */

static void watch_end(struct service *s)
{
	struct fleet_watch *w = s->fleet_watch;

	if (!w)
		return;
	while (w->watchers)
		call_refuse(let_go(w->watchers), 503, "the controller is stopping");
	(void)sd_event_source_disable_unref(w->timer);
	fleet_answer_release(&w->answer);
	fleet_feed_free(w->feed);
	free(TAKE(s->fleet_watch));
}

/* Another controller is the leader now: our data may be old, and clients should ask that one. */
static void send_away(struct service *s)
{
	while (s->fleet_watch->watchers)
		(void)stands_by(s, let_go(s->fleet_watch->watchers));
}

static void step(struct service *s)
{
	struct fleet_watch *w = s->fleet_watch;

	fleet_feed_step(w->feed);
	if (w->n > 0 && w->feed->read)
		end_all(w, fleet_answer_look(&w->answer, w->feed, clock_mono_us()));
}

static int on_step(sd_event_source *source, uint64_t due_us UNUSED, void *context)
{
	struct service *s = context;
	struct fleet_watch *w = s->fleet_watch;

	if (remediation_other(s))
		send_away(s);
	if (w->n == 0 && clock_mono_us() - w->asked_us > IDLE_US) {
		watch_end(s);
		return 0;
	}
	step(s);
	(void)sd_event_source_set_time_relative(source, w->feed->read ? FLEET_FEED_STEP_US
								      : FLEET_FEED_READ_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* Start watching. Returns false after refusing the call. */
static bool watch_need(struct service *s, struct call *call)
{
	struct fleet_watch *w = s->fleet_watch;

	if (!w) {
		w = s->fleet_watch = xcalloc(1, sizeof(*w));
		fleet_answer_init(&w->answer);
		w->feed = fleet_feed_new(s);
		if (sd_event_add_time_relative(s->loop, &w->timer, CLOCK_MONOTONIC,
					       FLEET_FEED_READ_US, STEP_ACCURACY_US, on_step,
					       s) < 0) {
			watch_end(s);
			call_refuse(call, 503, "out of memory");
			return false;
		}
		step(s);
	}
	w->asked_us = clock_mono_us();
	if (w->feed->read)
		end_all(w, fleet_answer_look(&w->answer, w->feed, w->asked_us));
	return true;
}

/* --- requests --- */

void routes_changes_get_fleet(void *context, struct call *call)
{
	struct service *s = context;
	struct fleet_watch *w;

	if (stands_by(s, call) || !watch_need(s, call))
		return;
	w = s->fleet_watch;
	if (w->feed->read)
		reply(call, fleet_answer_whole(&w->answer, w->feed));
	else
		hold(s, call, &(struct watcher){ .whole = true }, WAIT_DEFAULT_S * USEC_PER_SEC);
}

static bool wait_of(struct call *call, uint64_t *ret_us)
{
	unsigned long value = WAIT_DEFAULT_S;

	if (!routes_argument(call, "wait", "seconds, ", 0, WAIT_MAX_S, &value))
		return false;
	*ret_us = value * USEC_PER_SEC;
	return true;
}

void routes_changes_get(void *context, struct call *call)
{
	struct service *s = context;
	const char *text = call_argument(call, "since");
	uint64_t wait_us = 0, since = 0;
	struct api_body *body;
	struct fleet_watch *w;
	int r;

	if (!wait_of(call, &wait_us) || stands_by(s, call) || !watch_need(s, call))
		return;
	w = s->fleet_watch;
	r = text ? fleet_answer_number(&w->answer, text, &since) : -EINVAL;
	if (r == -EINVAL) {
		call_refuse(call, 400, "since: expected a version from /v1/fleet or /v1/changes");
	} else if (r < 0 || (wait_us == 0 && !w->feed->read)) {
		call_reply(call, 200, fleet_answer_reset(&w->answer, s));
	} else if (wait_us > 0 && (!w->feed->read || since == w->answer.version)) {
		hold(s, call, &(struct watcher){ .since = since }, wait_us);
	} else {
		body = fleet_answer_since(&w->answer, w->feed, since);
		reply(call, body);
		api_body_free(body);
	}
}

/* --- as a part of the controller --- */

static void written(struct service *s)
{
	if (s->fleet_watch)
		fleet_feed_written(s->fleet_watch->feed);
}

static void failed(struct service *s)
{
	if (s->fleet_watch)
		fleet_feed_restart(s->fleet_watch->feed);
}

static void forgotten(struct service *s, const char *node)
{
	if (s->fleet_watch)
		fleet_feed_forget(s->fleet_watch->feed, node);
}

const struct controller_part routes_changes_part = {
	.written = written,
	.failed = failed,
	.forgotten = forgotten,
	.stop = watch_end,
	.close = watch_end,
};
