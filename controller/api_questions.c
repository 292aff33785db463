/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions of people wait in a queue, reports and agents do not: one question after the other
 * is answered when nothing else is to be done. So that a stream of reports does not shut people out,
 * one is answered every HURRY_US all the same. Who asks too much at once is told to come again.
 */
#include "controller/api_inside.h"
#include "lib/clock.h"

enum {
	QUESTIONS_MAX = 256,	 /* that wait, of everybody */
	QUESTIONS_ONE_MAX = 64,	 /* of one address, and of one token */
	QUESTION_PRIORITY = 100, /* of the loop's sources: after all others */
};

/* Short questions share one turn, which ends after so long; and how long the first waits at most. */
#define QUESTIONS_TURN_US (5 * USEC_PER_MSEC)
#define HURRY_US (100 * USEC_PER_MSEC)

bool is_question(const struct call *call)
{
	return call->route->role == ROLE_READ && call->route->body_max == 0;
}

static void leave(struct call *call)
{
	TAILQ_REMOVE(&call->api->questions, call, questions);
	call->api->n_questions--;
}

/* Work is there: when nothing else is, and in HURRY_US at the latest. */
static void arm(struct api *api)
{
	int enabled = TAILQ_EMPTY(&api->questions) ? SD_EVENT_OFF : SD_EVENT_ONESHOT;

	(void)sd_event_source_set_enabled(api->ask, enabled);
	if (enabled != SD_EVENT_OFF)
		(void)sd_event_source_set_time_relative(api->hurry, HURRY_US);
	(void)sd_event_source_set_enabled(api->hurry, enabled);
}

static int on_question(sd_event_source *source UNUSED, void *context)
{
	struct api *api = context;
	uint64_t end_us = clock_mono_us() + QUESTIONS_TURN_US;
	struct call *call;

	while ((call = TAILQ_FIRST(&api->questions))) {
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
	call_refuse(call, 503, "nobody waits for it any more");
}

/* Has the sender as many as one may have? Who sends no token is known by the address alone. */
static bool asks_too_much(struct call *call)
{
	const char *token = call_token(call), *other_token;
	unsigned of_peer = 0, of_token = 0;
	struct call *other;

	TAILQ_FOREACH(other, &call->api->questions, questions)
	{
		other_token = token ? call_token(other) : NULL;
		of_peer += other->link->from == call->link->from;
		of_token += other_token && streq(other_token, token);
	}
	return MAX(of_peer, of_token) >= QUESTIONS_ONE_MAX;
}

void question_put(struct call *call)
{
	struct api *api = call->api;

	if (api->n_questions >= QUESTIONS_MAX || asks_too_much(call)) {
		call_refuse(call, 503, "too many questions at once");
		return;
	}
	TAILQ_INSERT_TAIL(&api->questions, call, questions);
	call_hold(call, on_gone, NULL);
	if (api->n_questions++ == 0)
		arm(api);
}

int questions_open(struct api *api)
{
	int r = sd_event_add_defer(api->loop, &api->ask, on_question, api);

	TAILQ_INIT(&api->questions);
	if (r >= 0)
		r = sd_event_source_set_priority(api->ask, QUESTION_PRIORITY);
	if (r >= 0)
		r = sd_event_add_time_relative(api->loop, &api->hurry, CLOCK_MONOTONIC, HURRY_US,
					       USEC_PER_MSEC, on_hurry, api);
	if (r >= 0)
		arm(api);
	return r;
}

void questions_close(struct api *api)
{
	(void)sd_event_source_disable_unref(api->ask);
	(void)sd_event_source_disable_unref(api->hurry);
}
