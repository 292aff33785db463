/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/backoff.h"

/* Doubling stops here; the cap is reached long before. */
enum { DOUBLINGS_MAX = 20 };

uint64_t backoff_fail(struct backoff *b, uint64_t at_least_us, uint64_t random)
{
	const unsigned doublings = MIN(b->failures, (unsigned)DOUBLINGS_MAX);
	const bool capped = b->base_us > (b->cap_us >> doublings);
	const uint64_t widest_us = capped ? b->cap_us : b->base_us << doublings;

	if (b->failures < DOUBLINGS_MAX)
		b->failures++;
	return at_least_us + (widest_us ? random % (widest_us + 1) : 0);
}

void backoff_reset(struct backoff *b)
{
	b->failures = 0;
}
