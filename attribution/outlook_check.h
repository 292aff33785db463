/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a description against the trace, and combines the two. */
#pragma once

#include "attribution/description.h"
#include "attribution/measured.h"
#include "lib/remedy/rearrange.h"

struct outlook_job {
	struct rearrange_job job;	       /* borrows from below and from the description */
	double *forward, *backward, *slowdown; /* owned */
	double fixed;			       /* of a step, beyond its slowest pipeline */
	double now;			       /* simulated step time */
	double bound;			       /* no arrangement makes a step shorter */
	double forward_part;		       /* share of forward in computes: 0 to 1 */
};

/* Does the description's value differ from the trace's by more than OUTLOOK_DIFFERENCE? */
bool outlook_check_differs(double told, double has);

/* As outlook_find(). */
int outlook_check(const struct attribution *attribution, const struct measured *measured,
		  const struct description *description, const char *trace,
		  struct outlook_job *ret_job, struct err *err);
void outlook_check_release(struct outlook_job *job);
