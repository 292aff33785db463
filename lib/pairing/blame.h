/* SPDX-License-Identifier: Apache-2.0 */
/* Whom the results accuse. Pure. */
#pragma once

#include "lib/pairing/pairing.h"

struct pairing_view;

/* Whom the view accuses, and what is not settled. */
struct pairing_case {
	bool suspect[PAIRING_NODES_MAX]; /* to be tried with somebody good */
	bool guilty[PAIRING_NODES_MAX];	 /* explained: not paired any more */
	bool open;			 /* somebody is still to be tried */
	bool excused;			 /* too few good groups to know what good is */
	bool all_slow;			 /* against the fleet */
	bool stay_home; /* groups below each switch tell more now than those between them */
};

/* Fill `ret_case` and the blames of the step, worst first, the certain ones before the others. */
void pairing_judge(const struct pairing_view *v, struct pairing_case *ret_case,
		   struct pairing_step *ret);
