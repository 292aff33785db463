/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time. Everything is uint64_t microseconds: durations and deadlines on
 * CLOCK_MONOTONIC, stamps on CLOCK_REALTIME. Pure code never calls this: it
 * takes `now_us` as a parameter.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

/* Microseconds since an arbitrary start; never goes backwards. */
uint64_t clock_mono_us(void);

/* Microseconds since boot, including suspend; not affected by changes of the wall clock. */
uint64_t clock_boot_us(void);

/* Microseconds since 1970-01-01 UTC. */
uint64_t clock_real_us(void);

/*
 * Like clock_real_us(), but by the coarse clock that Linux uses for file timestamps
 * (current_time(), fs/inode.c), which only advances with the tick: files created from now on are
 * never older than this.
 */
uint64_t clock_files_us(void);

/* Microseconds from now until the monotonic `deadline_us`; 0 when past. */
uint64_t clock_left_us(uint64_t deadline_us);

/* The same in milliseconds, rounded up, at most INT_MAX; for poll(). */
int clock_left_ms(uint64_t deadline_us);

/* The deadline as a timespec for waiting functions of the C library, on the same clock. */
struct timespec clock_timespec(uint64_t deadline_us);
