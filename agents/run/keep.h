/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a judged report: merges it into what is known of this host (verdict.json) and spools it
 * for the controller. If the disk is full, older reports that passed are dropped to make room,
 * because the present state of this host matters more than its past.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct err;
struct references;
struct report;
struct verdict;

struct keep {
	struct report *report;
	const struct verdict *verdict;
	struct references *references; /* that learn from it; or NULL */
	const json_t *topology;	       /* for the controller, or NULL */
	bool active;		       /* it ran active probes */
	bool spool;		       /* the controller gets it */
	/*
	 * Not evidence about this host alone: the result of a test with other hosts may be the
	 * fault of any of them, and the controller, which has all the reports, judges it.
	 * verdict.json and what was learned stay unchanged.
	 */
	bool aside;
};

/* Assign the report its sequence number. */
int keep_number(struct report *report, struct err *err);

/* Keep a report that has a number. Prints a line if older ones had to be dropped. */
int keep_report(struct keep *keep, struct err *err);

/* Does `r` mean that the disk is full? */
bool keep_had_no_room(int r);
