/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers sent with a report that tell the controller how old it is without relying on any wall
 * clock (docs/formats.md). Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct clock_pair;

enum { REPORT_AGE_SIZE = 64 };

/* "Assay-Age: 172800.250" or "Assay-Age: unknown", for the report in `text`. */
void report_age_header(const char *text, size_t len, const struct clock_pair *now,
		       char ret_line[static REPORT_AGE_SIZE]);

/* "Assay-Time: 2026-11-21T01:30:00.000Z": this host's wall clock. */
void report_time_header(uint64_t real_us, char ret_line[static REPORT_AGE_SIZE]);
