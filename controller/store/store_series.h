/* SPDX-License-Identifier: Apache-2.0 */
/* The reports of one host back in time, with their bodies and what was wrong in them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "controller/store/pack.h"
#include "lib/base/macro.h"

struct err;
struct store;

/* A report; borrowed until the callback returns. */
struct store_series_report {
	int64_t id;
	uint64_t seen_us;
	struct packed body; /* of no length: thinned out */
};

/* Which ones: before that number (INT64_MAX: from the newest), back to that time, at most so many. */
struct store_series_range {
	int64_t before;
	uint64_t since_us;
	size_t limit;
};

/* The reports of a host in the range, the newest first; `before` is the last of them then. Returns
 * how many. */
int store_series_reports(struct store *s, const char *node, struct store_series_range *range,
			 void (*report)(void *context, const struct store_series_report *r),
			 void *context, struct err *err);

/* What was not pass of a check in a report: its subject, enum verdict_level, and what it was held
 * against. */
int store_series_items(struct store *s, int64_t report, const char *check,
		       void (*item)(void *context, const char *subject, int level, double expected,
				    double floor),
		       void *context, struct err *err);
