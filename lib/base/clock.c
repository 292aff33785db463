/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/clock.h"

#include <limits.h>
#include <stdlib.h>
#include <time.h>

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) < 0)
		abort(); /* cannot happen with these ids */
	return (uint64_t)ts.tv_sec * USEC_PER_SEC + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t clock_mono_us(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_boot_us(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

uint64_t clock_real_us(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t clock_files_us(void)
{
	return read_clock(CLOCK_REALTIME_COARSE);
}

uint64_t clock_left_us(uint64_t deadline_us)
{
	uint64_t now_us = clock_mono_us();

	return deadline_us > now_us ? deadline_us - now_us : 0;
}

int clock_left_ms(uint64_t deadline_us)
{
	uint64_t left_us = clock_left_us(deadline_us);
	uint64_t left_ms = left_us / USEC_PER_MSEC + (left_us % USEC_PER_MSEC != 0);

	return (int)MIN(left_ms, (uint64_t)INT_MAX);
}

struct timespec clock_timespec(uint64_t deadline_us)
{
	return (struct timespec){ .tv_sec = (time_t)(deadline_us / USEC_PER_SEC),
				  .tv_nsec = (long)(deadline_us % USEC_PER_SEC * 1000) };
}
