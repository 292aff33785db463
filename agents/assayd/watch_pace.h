/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rate limit of watch reports: what is seen within a second goes into one report, and there are
 * only a few reports per minute, whatever happens on the host. Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

/* Events within this time share a report. */
#define WATCH_TOGETHER_US (1 * USEC_PER_SEC)

/* For `due` times: nothing to report. */
#define WATCH_NEVER UINT64_MAX

enum { WATCH_PER_MINUTE = 6 }; /* reports within any 60 s */

struct watch_pace {
	uint64_t told_us[WATCH_PER_MINUTE]; /* times of the last reports, + 1; 0: none */
	unsigned next;
};

/* When to report what has been waiting since `since_us` (WATCH_NEVER: never). */
uint64_t watch_pace_due(const struct watch_pace *pace, uint64_t since_us);

/* A report was made. */
void watch_pace_told(struct watch_pace *pace, uint64_t now_us);
