/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rate limit for one kind of log message, so that a flood of it cannot fill the journal: the first
 * LOG_LIMIT_LINES of a period are logged, the others are counted and the number is logged after the
 * period. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

enum { LOG_LIMIT_LINES = 10 };
#define LOG_LIMIT_PERIOD_US USEC_PER_MIN

struct log_limit {
	uint64_t since_us; /* start of the period; 0: none has begun */
	unsigned told;
	uint64_t missed;
};

/* Count one more message at `now_us`. Returns true if it should be logged. */
bool log_limit_take(struct log_limit *n, uint64_t now_us);

/* Once the period is over: returns how many messages it suppressed. Else 0. */
uint64_t log_limit_end(struct log_limit *n, uint64_t now_us);
