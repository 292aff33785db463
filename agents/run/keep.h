/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a report that was judged: it is part of what is known of
 * this host (verdict.json) and waits for the controller (the spool). Where the
 * disk is full, older reports that passed make room: what this host is now
 * matters more than what it was.
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
	struct references *references; /* that learn from it, or NULL */
	const json_t *topology;	       /* for the controller, or NULL */
	bool active;		       /* it ran active probes */
	bool spool;		       /* the controller gets it */
	/*
	 * It is no word about this host: what a test with others came to may be any of
	 * theirs, and who knows all their reports judges it. verdict.json and what is learnt
	 * stay as they are.
	 */
	bool aside;
};

/* Give the report its number. */
int keep_number(struct report *report, struct err *err);

/* Keep a report that has a number. Says in a line how many older ones had to go. */
int keep_report(struct keep *keep, struct err *err);

/* Is it that the disk is full? */
bool keep_had_no_room(int r);
