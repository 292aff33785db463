/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When something was, in a way that outlives a wrong wall clock. Within one
 * boot the time since the boot counts and the wall clock does not, so that it
 * may be a day off, jump or be set back. Across boots only the wall clock is
 * left, with one thing known besides: what was before this boot is at least as
 * old as the boot. Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

/* A wall clock may be so far behind an earlier stamp and still be believed: then the age is 0. */
#define CLOCK_PAIR_FUTURE_US (5 * USEC_PER_MIN)

struct clock_pair {
	uint64_t real_us;    /* wall clock; 0: not known */
	uint64_t up_us;	     /* since the boot, sleep included; 0: not known */
	const char *boot_id; /* NULL or "": not known; borrowed */
};

/* Seconds since the boot, as reports and verdicts have them, as `up_us`; 0 for what is no such
 * number. */
uint64_t clock_pair_up_us(double uptime_s);

/* How long before `now` it was; false when that cannot be told: the clocks put it into the future. */
bool clock_pair_age(const struct clock_pair *then, const struct clock_pair *now,
		    uint64_t *ret_age_us);
