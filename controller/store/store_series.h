/* SPDX-License-Identifier: Apache-2.0 */
/* Past reports of one host, with their bodies and the items that were not pass. */
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
	struct packed body; /* length 0: deleted */
};

/* Which ones: before that number (INT64_MAX: from the newest), since that time, at most `limit`. */
struct store_series_range {
	int64_t before;
	uint64_t since_us;
	size_t limit;
};

/* The reports of a host in the range, newest first; sets `before` to the last of them. Returns
 * their number. */
int store_series_reports(struct store *s, const char *node, struct store_series_range *range,
			 void (*report)(void *context, const struct store_series_report *r),
			 void *context, struct err *err);

/* Items of a check that were not pass in a report: subject, enum verdict_level, and what it was
 * compared with. */
int store_series_items(struct store *s, int64_t report, const char *check,
		       void (*item)(void *context, const char *subject, int level, double expected,
				    double floor),
		       void *context, struct err *err);
