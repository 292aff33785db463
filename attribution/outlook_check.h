/* SPDX-License-Identifier: Apache-2.0 */
/* A description held against the trace, and the two made one. */
#pragma once

#include "attribution/description.h"
#include "attribution/measured.h"
#include "lib/remedy/rearrange.h"

struct outlook_job {
	struct rearrange_job job;	       /* borrows what is below, and of the description */
	double *forward, *backward, *slowdown; /* owned */
	double fixed;			       /* of a step, beyond its slowest pipeline */
	double now;			       /* a step, as simulated */
	double bound;			       /* of a step, what no arrangement beats */
	double forward_part;		       /* of computes, by the trace: 0 to 1 */
};

/* Is what was told more than OUTLOOK_DIFFERENCE from what the trace has? */
bool outlook_check_differs(double told, double has);

/* As outlook_find(). */
int outlook_check(const struct attribution *attribution, const struct measured *measured,
		  const struct description *description, const char *trace,
		  struct outlook_job *ret_job, struct err *err);
void outlook_check_release(struct outlook_job *job);
