/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of findings.h share. */
#pragma once

#include <stdint.h>

#include "controller/fleet/incident.h"
#include "lib/base/macro.h"

struct err;
struct rules_view;
struct shifts;
struct store;
struct store_window;
struct verdict;
struct verdict_item;

struct note {
	struct store *store;
	struct rules_view *rules;
	const struct verdict *verdict;
	uint64_t at_us; /* when it was measured */
	bool fresh;
	struct store_window *rows; /* FINDINGS_MAX */
	size_t n_rows;
	unsigned char *marks; /* of each item: enum mark */
};

enum mark {
	MARK_BAD = 1,	 /* a bad run of its subject */
	MARK_SPEAKS = 2, /* it is, or would be, the incident of its check */
};

/* --- is it the host, or the fleet? (shift.h) --- */

/* What is counted over the fleet, or NULL when this report is no news of it. */
struct shifts *findings_shifts(const struct note *note);

/* One item among those of the fleet. */
void findings_count(const struct note *note, const struct verdict_item *item, bool bad);

/* Has half of the fleet it? So it was before a restart, until enough have reported again. */
bool findings_shared(const struct note *note, const char *check);

/* Has the policy told it as one thing of many hosts? */
bool findings_noticed(const struct note *note, const char *check);

/* After the last item: where is the host low now, and is the whole fleet? */
int findings_settle(struct note *note, struct err *err);
