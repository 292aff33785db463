/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often one kind of thing is told: a flood of it must not fill the journal.
 * The first LOG_LIMIT_LINES of a period are, then their number once the period is
 * over. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

enum { LOG_LIMIT_LINES = 10 };
#define LOG_LIMIT_PERIOD_US USEC_PER_MIN

struct log_limit {
	uint64_t since_us; /* of the period; 0: none has begun */
	unsigned told;
	uint64_t missed;
};

/* One more of it at `now_us`: is it told? */
bool log_limit_take(struct log_limit *n, uint64_t now_us);

/* When the period is over: how many were not told in it. Else 0. */
uint64_t log_limit_end(struct log_limit *n, uint64_t now_us);
