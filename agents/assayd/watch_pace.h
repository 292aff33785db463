/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When assayd may tell what it saw: all of a second in one report, and a few
 * reports a minute at most, whatever happens on the host. Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

/* What is seen within this time goes into one report. */
#define WATCH_TOGETHER_US (1 * USEC_PER_SEC)

/* In `due` times: nothing is to be told. */
#define WATCH_NEVER UINT64_MAX

enum { WATCH_PER_MINUTE = 6 }; /* reports within any 60 s */

struct watch_pace {
	uint64_t told_us[WATCH_PER_MINUTE]; /* when the last reports were made, + 1; 0: none */
	unsigned next;
};

/* When to make the report of what is to be told since `since_us` (WATCH_NEVER: never). */
uint64_t watch_pace_due(const struct watch_pace *pace, uint64_t since_us);

/* One was made. */
void watch_pace_told(struct watch_pace *pace, uint64_t now_us);
