/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The orders `pair` and `allreduce`: a test with other hosts. It is
 *
 *	assay run --report --order=ID --order-kind=KIND --probe NAME ... -- ARGUMENTS
 *
 * of one probe of ours, with the hosts, the rank and the token file (agents/assayd/permit_file.h)
 * of the order for arguments; one at a time, over before the order's deadline.
 *
 * Whoever gave the order learns what became of it: an order that is not obeyed is answered
 * by a report of no samples and one problem, made by assay run --decline=CODE:WHY.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct assayd_config;
struct collective;
struct order;
struct sd_event;

/* Of the time of an order, for the report to be made and kept. */
#define COLLECTIVE_RESERVE_US UINT64_C(3000000)
/* With less than this besides, nothing is begun. */
#define COLLECTIVE_LEAST_US UINT64_C(3000000)

/*
 * A report may arrive, and be answered by the next order, while the run that made it has still
 * to end: an order waits so long for that. One, the next; after this it is answered busy.
 */
#define COLLECTIVE_PATIENCE_US UINT64_C(2000000)

enum { COLLECTIVE_ANSWERS_MAX = 16 }; /* that wait to be given; more are only a line in the log */

/* Removes the token file that an assayd before us may have left. */
struct collective *collective_new(struct sd_event *event);

/* A run under way is told to end; it dies with this program at the latest. */
void collective_free(struct collective *c);

/* Run it, or answer why not. */
void collective_obey(struct collective *c, const struct order *order,
		     const struct assayd_config *config);

/* Answer an order that will not be obeyed: `code` is an enum problem_code. */
void collective_decline(struct collective *c, const struct order *order, int code, const char *why);

/* Tell a run under way to end, and answer nothing more. */
void collective_stop(struct collective *c);
