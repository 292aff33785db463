/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/api_questions.h"

#include "controller/http/api_inside.h"
#include "lib/base/clock.h"

enum {
	QUESTIONS_MAX = 256,	 /* queued, in total */
	QUESTIONS_ONE_MAX = 64,	 /* per address, and per token */
	QUESTION_PRIORITY = 100, /* priority in the loop: after all others */
};

/* Short queries share a turn of this length; and the longest wait of the first in the queue. */
#define QUESTIONS_TURN_US (5 * USEC_PER_MSEC)
#define HURRY_US (100 * USEC_PER_MSEC)

bool api_questions_is_one(const struct call *call)
{
	return call->route->role == ROLE_READ && call->route->body_max == 0;
}

static void leave(struct call *call)
{
	TAILQ_REMOVE(&call->api->questions.list, call, questions);
	call->api->questions.n--;
}

/*
 * Run when idle, and within HURRY_US at the latest. Counted from now, not from the loop's time,
 * which is that of its last wait: after a query longer than HURRY_US the next would be due before
 * anything else, even the answers, had its turn.
 */
static void arm(struct api *api)
{
	int enabled = TAILQ_EMPTY(&api->questions.list) ? SD_EVENT_OFF : SD_EVENT_ONESHOT;

	(void)sd_event_source_set_enabled(api->questions.ask, enabled);
	if (enabled != SD_EVENT_OFF)
		(void)sd_event_source_set_time(api->questions.hurry, clock_mono_us() + HURRY_US);
	(void)sd_event_source_set_enabled(api->questions.hurry, enabled);
}

static int on_question(sd_event_source *source UNUSED, void *context)
{
	struct api *api = context;
	uint64_t end_us = clock_mono_us() + QUESTIONS_TURN_US;
	struct call *call;

	while ((call = TAILQ_FIRST(&api->questions.list))) {
		leave(call);
		call->gone = NULL;
		call->route->handle(api->options.context, call);
		if (clock_mono_us() >= end_us)
			break;
	}
	arm(api);
	return 0;
}

static int on_hurry(sd_event_source *source, uint64_t now_us UNUSED, void *context)
{
	return on_question(source, context);
}

static void on_gone(void *context UNUSED, struct call *call)
{
	leave(call);
	call_refuse(call, 503, "the caller is gone");
}

/* Has the sender reached its limit? Without a token only the address counts. */
static bool asks_too_much(struct call *call)
{
	const char *token = call_token(call), *other_token;
	unsigned of_peer = 0, of_token = 0;
	struct call *other;

	TAILQ_FOREACH(other, &call->api->questions.list, questions)
	{
		other_token = token ? call_token(other) : NULL;
		of_peer += other->link->from == call->link->from;
		of_token += other_token && streq(other_token, token);
	}
	return MAX(of_peer, of_token) >= QUESTIONS_ONE_MAX;
}

void api_questions_put(struct call *call)
{
	struct api *api = call->api;

	if (api->questions.n >= QUESTIONS_MAX || asks_too_much(call)) {
		call_refuse(call, 503, "too many requests at once");
		return;
	}
	TAILQ_INSERT_TAIL(&api->questions.list, call, questions);
	call_hold(call, on_gone, NULL);
	if (api->questions.n++ == 0)
		arm(api);
}

int api_questions_open(struct api *api)
{
	int r = sd_event_add_defer(api->loop, &api->questions.ask, on_question, api);

	TAILQ_INIT(&api->questions.list);
	if (r >= 0)
		r = sd_event_source_set_priority(api->questions.ask, QUESTION_PRIORITY);
	if (r >= 0)
		r = sd_event_add_time_relative(api->loop, &api->questions.hurry, CLOCK_MONOTONIC,
					       HURRY_US, USEC_PER_MSEC, on_hurry, api);
	if (r >= 0)
		arm(api);
	return r;
}

void api_questions_close(struct api *api)
{
	(void)sd_event_source_disable_unref(api->questions.ask);
	(void)sd_event_source_disable_unref(api->questions.hurry);
}
