/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job as its trace has it, in the terms of a planner: what a micro-batch takes on a good host
 * of each stage, and how much longer on each.
 */
#pragma once

#include "attribution/attribution.h"

struct measured {
	size_t dp, pp, microbatches; /* of each pipeline */
	double *forward_s,
		*backward_s; /* owned: [pp], all chunks of a micro-batch, by the median host */
	double *slowdown;    /* owned: [d * pp + stage]: against that host */
};

struct measured measured_of(const struct attribution *attribution);
void measured_release(struct measured *measured);
