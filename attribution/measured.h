/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job of a trace in the planners' terms: time per micro-batch of a good host of each stage,
 * and each host's slowdown.
 */
#pragma once

#include "attribution/attribution.h"

struct measured {
	size_t dp, pp, microbatches; /* per pipeline */
	double *forward_s,
		*backward_s; /* owned: [pp], all chunks of a micro-batch, on the median host */
	double *slowdown;    /* owned: [d * pp + stage], relative to the median host */
};

struct measured measured_of(const struct attribution *attribution);
void measured_release(struct measured *measured);
