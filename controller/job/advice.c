/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/advice.h"

const char *const advice_kind_names[] = { "continue", "stop", "resume", NULL };

static bool say(struct advice_next *ret, int kind, int why, uint64_t expires_us)
{
	*ret = (struct advice_next){ kind, why, expires_us };
	return true;
}

/* After a stop that nobody has acknowledged yet. */
static bool after_stop(const struct advice_last *last, const struct advice_facts *now,
		       struct advice_next *ret)
{
	if (!now->pending && !now->out)
		return say(ret, ADVICE_CONTINUE, ADVICE_WITHDRAWN, 0);
	if (now->now_us >= last->expires_us)
		return say(ret, ADVICE_CONTINUE, ADVICE_EXPIRED, 0);
	return false;
}

/* After an acknowledged stop: the job stands still. */
static bool after_answer(const struct advice_last *last, const struct advice_facts *now,
			 struct advice_next *ret)
{
	const uint64_t until_us = now->now_us + ADVICE_RESUME_US;

	if (!now->pending)
		return say(ret, ADVICE_RESUME, now->out ? ADVICE_REPLACED : ADVICE_CLEARED,
			   until_us);
	if (now->now_us >= last->done_us + ADVICE_HELD_US)
		return say(ret, ADVICE_RESUME, ADVICE_WAITED, until_us);
	return false;
}

/* Returns why nothing is to be stopped, or ADVICE_NOTHING. */
static int why_not(const struct advice_facts *now)
{
	if (!now->running)
		return ADVICE_NOT_RUNNING;
	if (!now->pays)
		return ADVICE_PAYS_NOT;
	return now->spares ? ADVICE_NOTHING : ADVICE_NO_SPARE;
}

bool advice_next(const struct advice_last *last, const struct advice_facts *now,
		 struct advice_next *ret)
{
	const bool stops = last->kind == ADVICE_STOP;
	int why;

	if (stops && !last->done_us)
		return after_stop(last, now, ret);
	if (stops)
		return after_answer(last, now, ret);
	if (!now->prediction || now->advised)
		return false;
	why = why_not(now);
	if (why == ADVICE_NOTHING)
		return say(ret, ADVICE_STOP, now->to_test ? ADVICE_TO_TEST : ADVICE_TO_REPLACE,
			   now->now_us + ADVICE_STOP_US);
	if (last->why == why && last->prediction == now->prediction)
		return false;
	return say(ret, ADVICE_CONTINUE, why, 0);
}

bool advice_is_under_way(const struct advice_last *last)
{
	return last->kind == ADVICE_STOP;
}

const char *advice_state(const struct advice_last *last, uint64_t now_us)
{
	if (last->done_us)
		return "acknowledged";
	if (!last->expires_us)
		return "none";
	return now_us < last->expires_us ? "open" : "expired";
}
