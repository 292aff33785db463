/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the GEMM core on a simulated engine and keeps its samples. */
#pragma once

#include "lib/report/report.h"
#include "probes/gemm/gemm.h"
#include "tests/fakes/accel_sim.h"

/* Eight equal cores with 1 % noise and no faults. */
struct accel_sim sim_make_8(uint64_t seed);

struct ran {
	int r; /* of gemm_run() */
	struct err err;
	struct report report; /* its samples */
	double seconds;	      /* on the simulated clock */
};

/* Runs it: 48 x 40 x 56 f64, 1 s warm-up, 4.5 s rate, 1 s check, budget 10 s. */
struct ran sim_run(struct accel_sim *sim);
/* The same with the caller's plan; engine and sink are filled in. */
struct ran sim_run_plan(struct accel_sim *sim, struct gemm_plan plan);
struct gemm_plan sim_plan(void);
void ran_release(struct ran *ran);

/* Returns the sample of (check, subject), or NULL. */
const struct sample *ran_sample(const struct ran *ran, const char *check, const char *subject);
