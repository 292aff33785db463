/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/schedule_time.h"

#include <string.h>

#include "lib/base/fnv.h"
#include "lib/base/xalloc.h"

uint64_t schedule_offset_us(const char *node, const char *profile, uint64_t period_us)
{
	CLEANUP(freep) char *text = xasprintf("%s %s", profile, node);

	return fnv1a(text, strlen(text)) % (period_us / USEC_PER_SEC) * USEC_PER_SEC;
}

uint64_t schedule_next_us(uint64_t now_us, uint64_t period_us, uint64_t offset_us)
{
	uint64_t at_us = now_us - now_us % period_us + offset_us % period_us;

	return at_us > now_us ? at_us : at_us + period_us;
}

uint64_t schedule_first_us(uint64_t now_us, uint64_t last_us, uint64_t period_us, uint64_t offset_us)
{
	/* A time in the future comes from a clock that was set back: not missed. */
	if (last_us > 0 && (last_us > now_us || now_us - last_us < period_us))
		return schedule_next_us(now_us, period_us, offset_us);
	return now_us + offset_us % MIN(period_us, SCHEDULE_CATCH_UP_US);
}
