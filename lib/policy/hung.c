/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/hung.h"

const char *const hung_state_names[HUNG_STATES] = {
	[HUNG_MOVES] = "moves",
	[HUNG_QUIET] = "quiet",
	[HUNG_HUNG] = "hung",
};

static uint64_t since(uint64_t from_us, uint64_t now_us)
{
	return now_us - MIN(now_us, from_us);
}

uint64_t hung_limit_us(const struct hung *h, bool sure)
{
	return sure ? HUNG_SURE_US : MAX(HUNG_FLOOR_US, HUNG_PAUSES * h->pause_us);
}

/* It moves again: the time was a pause, unless somebody may have ended it from outside. */
static void go_on(struct hung *h, bool by_itself)
{
	if (h->still_us && by_itself)
		h->pause_us =
			MAX(h->pause_us, MIN(since(h->still_us, h->heard_us), HUNG_PAUSE_MAX_US));
	h->still_us = 0;
	h->heard_us = 0;
	h->state = HUNG_MOVES;
}

enum hung_state hung_judge(struct hung *h, const struct hung_sight *sight, uint64_t now_us)
{
	const bool silent = !sight->heard_us || since(sight->heard_us, now_us) > HUNG_FRESH_US;
	const bool moved = sight->moved_us && h->still_us && sight->moved_us > h->still_us;

	if (moved || silent)
		go_on(h, moved || h->state != HUNG_HUNG);
	/* A standstill reported before the last move says nothing about now. */
	if (silent || (sight->moved_us && sight->moved_us >= sight->heard_us))
		return h->state;
	h->heard_us = sight->heard_us;
	h->still_us = h->still_us ? h->still_us : MAX(sight->since_us, sight->moved_us);
	if (h->state == HUNG_HUNG)
		return h->state;
	h->state = HUNG_QUIET;
	/* It may have moved since the last report. */
	if (since(h->still_us, sight->heard_us) >= hung_limit_us(h, sight->sure) &&
	    (sight->sure || !sight->traffic))
		h->state = HUNG_HUNG;
	return h->state;
}
