/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long to wait before trying again: exponential backoff with full jitter, so that the hosts of
 * a fleet that lost its server do not all return at once ("Exponential Backoff And Jitter", M.
 * Brooker, AWS Architecture Blog, 2015). Pure: randomness is a parameter.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct backoff {
	uint64_t base_us;  /* upper bound of the first wait */
	uint64_t cap_us;   /* upper bound of any wait */
	unsigned failures; /* consecutive */
};

/*
 * Count one more failure and return how long to wait. `random` (any 64 bits) picks a time between 0
 * and min(cap, base * 2^(failures so far)). `at_least_us`, which the server asked for (Retry-After;
 * 0: nothing), is added to it.
 */
uint64_t backoff_fail(struct backoff *b, uint64_t at_least_us, uint64_t random);

/* Call after a success: the next failure waits like the first one. */
void backoff_reset(struct backoff *b);
