/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a profile runs next without systemd timers: once per period, each host at its own fixed
 * offset, so that a rack does not load its devices, nor a fleet its controller, all at once. Real
 * time. Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/clock.h"

/* Runs missed while the host was off are made up for within this time. */
#define SCHEDULE_CATCH_UP_US USEC_PER_MIN

/* The host's offset within the period, in whole seconds. `period_us` is at least one second. */
uint64_t schedule_offset_us(const char *node, const char *profile, uint64_t period_us);

/* The next such time after `now_us`. */
uint64_t schedule_next_us(uint64_t now_us, uint64_t period_us, uint64_t offset_us);

/*
 * The first run after a start: soon, if the last run (`last_us`, 0: none since boot) is at least
 * a period ago, so that a newly booted host is known before its first job.
 */
uint64_t schedule_first_us(uint64_t now_us, uint64_t last_us, uint64_t period_us,
			   uint64_t offset_us);
