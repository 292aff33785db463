/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a profile runs next where no timers of systemd do it: once a period,
 * each host at its own moment within it, the same each time, so that neither a
 * rack loads its devices nor a fleet its controller all at once. Real time. Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/clock.h"

/* What was missed while the host was off is made up within this. */
#define SCHEDULE_CATCH_UP_US USEC_PER_MIN

/* The host's moment within the period, in whole seconds. `period_us` is at least one. */
uint64_t schedule_offset_us(const char *node, const char *profile, uint64_t period_us);

/* The first such moment after `now_us`. */
uint64_t schedule_next_us(uint64_t now_us, uint64_t period_us, uint64_t offset_us);

/*
 * The first one after a start: soon when the last run (`last_us`, 0: none since the
 * boot) is a period ago, so that a host that has just booted is known before its first job.
 */
uint64_t schedule_first_us(uint64_t now_us, uint64_t last_us, uint64_t period_us,
			   uint64_t offset_us);
