/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of a bad run besides that it was bad: the policy decides on it. */
#pragma once

#include <stdint.h>

#include "controller/fleet/incident.h"
#include "lib/base/macro.h"

struct err;
struct rules_view;
struct store;
struct store_window;
struct verdict;
struct verdict_item;

/* What one run is noted in: what is known before it, and what becomes of that. */
struct findings_run {
	struct store *store;
	struct rules_view *rules;
	uint64_t at_us; /* when it was measured */
	bool fresh;
	struct store_window *rows; /* FINDINGS_MAX */
	size_t n_rows;
	unsigned char *marks; /* of each item: enum findings_mark */
};

enum findings_mark {
	MARK_BAD = 1,	 /* a bad run of its subject */
	MARK_SPEAKS = 2, /* it is, or would be, the incident of its check */
};

/*
 * Parts of the host that are bad in the check, of all that the run measured; of links only
 * the bad ones are known.
 */
struct incident_count findings_parts(const struct verdict *v, const struct verdict_item *item);

/* What the policy wants to know of a bad run, into its row. */
void findings_describe(const struct findings_run *note, const struct verdict *v,
		       const struct verdict_item *item, struct store_window *row);

/*
 * Drop the row that is not fatal and was not bad for the longest, and the incident that nothing
 * of its check is left for; all stay when all are fatal.
 */
int findings_make_room(struct findings_run *note, const char *node, struct err *err);

/* Is this the host's first run of its profile? What is bad in it was never good. */
bool findings_first(struct store *store, const struct verdict *v);
