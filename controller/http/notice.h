/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often one kind of thing is told: a flood of it must not fill the journal.
 * The first NOTICE_LINES of a period are, then their number once the period is
 * over. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

enum { NOTICE_LINES = 10 };
#define NOTICE_PERIOD_US USEC_PER_MIN

struct notice {
	uint64_t since_us; /* of the period; 0: none has begun */
	unsigned told;
	uint64_t missed;
};

/* One more of it at `now_us`: is it told? */
bool notice_take(struct notice *n, uint64_t now_us);

/* When the period is over: how many were not told in it. Else 0. */
uint64_t notice_end(struct notice *n, uint64_t now_us);
