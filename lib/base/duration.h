/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of times and durations, and the names of units. Pure: the clocks are in lib/base/clock.h,
 * which pure code does not include.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

#define USEC_PER_MSEC UINT64_C(1000)
#define USEC_PER_SEC UINT64_C(1000000)
#define USEC_PER_MIN (60 * USEC_PER_SEC)
#define USEC_PER_HOUR (60 * USEC_PER_MIN)
#define USEC_PER_DAY (24 * USEC_PER_HOUR)

enum {
	CLOCK_STAMP_SIZE = 32,	  /* "2026-11-21T01:30:00.123456Z" and its NUL */
	CLOCK_DURATION_SIZE = 24, /* "90m" and the like */
};

/* Write `real_us` as RFC 3339 UTC with milliseconds. */
void clock_stamp(uint64_t real_us, char ret_text[static CLOCK_STAMP_SIZE]);

/*
 * Write `real_us` in UTC for people who read it at `now_us`, to the minute: "06:23Z" within the
 * next 24 hours, "06:23:07Z" within two minutes, else "2026-11-21 06:23Z".
 */
void duration_until(uint64_t real_us, uint64_t now_us, char ret_text[static CLOCK_STAMP_SIZE]);

/* Read an RFC 3339 UTC stamp ("Z" only, fraction optional). -EINVAL. */
int clock_parse_stamp(const char *text, uint64_t *ret_real_us);

/*
 * Read a duration: a whole number with ms, s, m, h or d ("45s", "500ms"), or a bare "0". At most 10
 * years. -EINVAL with a message that quotes the text and says what is expected.
 */
int duration_parse(const char *text, uint64_t *ret_us, struct err *err);

/* Write `us` in the largest unit that keeps it whole ("90s", "24h", "500ms"). */
void duration_format(uint64_t us, char ret_text[static CLOCK_DURATION_SIZE]);
