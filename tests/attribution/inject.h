/* SPDX-License-Identifier: Apache-2.0 */
/* What can be wrong with a job, and what attribution must then say. */
#pragma once

#include <stdio.h>

#include "tests/attribution/job.h"

struct injection {
	const char *name;
	const char *label;	      /* that must be among those found */
	void (*put)(struct job *job); /* sizes, seed and defaults are set */
	bool beside;		      /* another label may be the primary one */
	int dp, pp, mb, vpp, steps;   /* 0: by the seed */
};

extern const struct injection injections[];
extern const int n_injections;

/* NULL: there is none. */
const struct injection *injection_find(const char *name);

/* A job of the seed's sizes (those not 0 in `sizes` instead), with what is wrong with it. */
void injection_job(const struct injection *injection, const struct job *sizes, uint64_t seed,
		   struct job *ret_job);

/* One JSON object: label, workers, node, stage, dropped steps. */
void injection_truth(const struct injection *injection, const struct job *job, FILE *out);
