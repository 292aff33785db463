/* SPDX-License-Identifier: Apache-2.0 */
/* Whom the results accuse. Pure. */
#pragma once

#include "lib/pairing/pairing.h"

struct pairing_view;

/* Whom the view accuses, and what is still open. */
struct pairing_case {
	bool suspect[PAIRING_NODES_MAX]; /* to be tested with somebody good */
	bool guilty[PAIRING_NODES_MAX];	 /* explained: no longer paired */
	bool open;			 /* somebody is still to be tested */
	bool excused;			 /* too few good groups to know what good is */
	bool all_slow;			 /* compared with the fleet */
	bool stay_home; /* groups below each switch now show more than those across switches */
};

/* Fills `ret_case` and the blames of the step: certain ones first, worst first. */
void pairing_judge(const struct pairing_view *v, struct pairing_case *ret_case,
		   struct pairing_step *ret);
