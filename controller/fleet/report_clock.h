/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Age of a report on arrival, and the offset of its host's clock from ours, as given by the sender
 * (docs/formats.md). From these follows the time of measurement by our own clock, whatever the
 * host's clock says. Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

/* A larger offset of a host's clock is reported. */
#define REPORT_CLOCK_SKEW_MAX_S 60.0

struct report_clock {
	uint64_t now_us;      /* by our clock */
	uint64_t measured_us; /* by our clock */
	bool fresh;	      /* recent enough to describe the present (STORE_STALE_US) */
	bool timed;	      /* the sender gave its age */
	double skew_s;	      /* host's clock minus ours; NAN if not given */
};

/*
 * `age` and `time` are the values of the headers Assay-Age and Assay-Time, or NULL. Without an age
 * the report is taken as measured now; with "unknown" or an invalid number, as just too old to be
 * fresh.
 */
struct report_clock report_clock_of(const char *age, const char *time, uint64_t now_us);
