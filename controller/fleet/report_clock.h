/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How old a report was when it came in, and how far its host's clock is from
 * ours, by what its sender said (docs/formats.md). When it was measured is then
 * a time by our own clock, whatever day the host thinks it is. Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

/* A host's clock that differs by more is told. */
#define REPORT_CLOCK_SKEW_MAX_S 60.0

struct report_clock {
	uint64_t now_us;      /* by our clock */
	uint64_t measured_us; /* by our clock */
	bool fresh;	      /* young enough to say something about now (STORE_STALE_US) */
	bool timed;	      /* the sender said how old it is */
	double skew_s;	      /* the host's clock less ours; NAN when it did not say */
};

/*
 * `age` and `time` are the values of the headers Assay-Age and Assay-Time, or
 * NULL. Without an age the report is taken as measured now; one that is
 * "unknown" or no number of seconds is taken as just too old.
 */
struct report_clock report_clock_of(const char *age, const char *time, uint64_t now_us);
