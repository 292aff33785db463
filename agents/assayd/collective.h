/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The orders `pair` and `allreduce`: a test with other hosts, which runs
 *
 *	assay run --report --order=ID --order-kind=KIND --probe NAME ... -- ARGUMENTS
 *
 * with one of our probes. ARGUMENTS are the order's hosts, rank and token file
 * (agents/assayd/permit_file.h). Tests run one at a time and end before their order's deadline.
 *
 * An order that is not obeyed is answered too: by a report with no samples and one problem, made by
 * assay run --decline=CODE:WHY.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct assayd_config;
struct collective;
struct order;
struct sd_event;

/* Time before the deadline that is reserved to make and store the report. */
#define COLLECTIVE_RESERVE_US UINT64_C(3000000)
/* Least time for the test itself; an order with less left is not started. */
#define COLLECTIVE_LEAST_US UINT64_C(3000000)

/*
 * The controller may answer a report with the next order while the run that made the report is
 * still exiting. One order waits this long for the exit before it is answered as busy; further ones
 * are answered at once.
 */
#define COLLECTIVE_PATIENCE_US UINT64_C(2000000)

enum { COLLECTIVE_ANSWERS_MAX = 16 }; /* pending; further ones are only logged */

/* Removes the token file that an earlier assayd may have left. */
struct collective *collective_new(struct sd_event *event);

/* Stops a run in progress; it dies with this program at the latest. */
void collective_free(struct collective *c);

/* Runs the test, or answers why not. */
void collective_obey(struct collective *c, const struct order *order,
		     const struct assayd_config *config);

/* Answers an order that will not be obeyed; `code` is an enum problem_code. */
void collective_decline(struct collective *c, const struct order *order, int code, const char *why);

/* Stops a run in progress, and drops pending answers and the waiting order. */
void collective_stop(struct collective *c);
