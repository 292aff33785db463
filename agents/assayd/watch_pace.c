/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/watch_pace.h"

uint64_t watch_pace_due(const struct watch_pace *pace, uint64_t since_us)
{
	const uint64_t oldest_us = pace->told_us[pace->next];

	if (since_us == WATCH_NEVER)
		return WATCH_NEVER;
	/* Timestamps are one more than the time, so that a full minute has passed. */
	return MAX(since_us + WATCH_TOGETHER_US, oldest_us ? oldest_us + USEC_PER_MIN : 0);
}

void watch_pace_told(struct watch_pace *pace, uint64_t now_us)
{
	pace->told_us[pace->next] = now_us + 1;
	pace->next = (pace->next + 1) % WATCH_PER_MINUTE;
}
