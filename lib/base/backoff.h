/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long to wait before trying again: exponential with full jitter, so that
 * a fleet that lost its server does not come back in step ("Exponential Backoff
 * And Jitter", M. Brooker, AWS Architecture Blog, 2015). Pure: randomness comes
 * in as a number.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct backoff {
	uint64_t base_us;  /* widest first wait */
	uint64_t cap_us;   /* widest wait ever */
	unsigned failures; /* in a row */
};

/*
 * Note one more failure and return the wait: evenly spread over 0 to
 * min(cap, base * 2^failures before), by `random` (any 64 bits). What the
 * server asked for (`at_least_us`, Retry-After; 0: nothing) comes on top.
 */
uint64_t backoff_fail(struct backoff *b, uint64_t at_least_us, uint64_t random);

/* It went well: the next failure waits as the first one. */
void backoff_reset(struct backoff *b);
