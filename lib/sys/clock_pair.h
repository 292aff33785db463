/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ages that survive a wrong wall clock. Within one boot the time since boot decides, so the wall
 * clock may be a day off, jump or be set back. Across boots only the wall clock is left, with one
 * additional fact: anything before this boot is at least as old as the boot. Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

/* A wall clock behind an earlier timestamp by at most this is still trusted: the age is 0. */
#define CLOCK_PAIR_FUTURE_US (5 * USEC_PER_MIN)

struct clock_pair {
	uint64_t real_us;    /* wall clock; 0: unknown */
	uint64_t up_us;	     /* since boot, including suspend; 0: unknown */
	const char *boot_id; /* NULL or "": unknown; borrowed */
};

/* Converts seconds since boot, as in reports and verdicts, to `up_us`; 0 for an invalid number. */
uint64_t clock_pair_up_us(double uptime_s);

/* How long before `now` it was; false if unknown, since the clocks put it into the future. */
bool clock_pair_age(const struct clock_pair *then, const struct clock_pair *now,
		    uint64_t *ret_age_us);
