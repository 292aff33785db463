/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of a job, and what attribution must find. */
#pragma once

#include <stdio.h>

#include "tests/attribution/job.h"

struct injection {
	const char *name;
	const char *label;	      /* must be among those found */
	void (*put)(struct job *job); /* called with sizes, seed and defaults set */
	bool beside;		      /* another label may be the primary one */
	int dp, pp, mb, vpp, steps;   /* 0: drawn from the seed */
};

extern const struct injection injections[];
extern const int n_injections;

/* Returns NULL if there is none. */
const struct injection *injection_find(const char *name);

/* Generates a job with the fault. Sizes are drawn from the seed unless set (not 0) in `sizes`. */
void injection_job(const struct injection *injection, const struct job *sizes, uint64_t seed,
		   struct job *ret_job);

/* Prints one JSON object: label, workers, node, stage, dropped steps. */
void injection_truth(const struct injection *injection, const struct job *job, FILE *out);
