/* SPDX-License-Identifier: Apache-2.0 */
/* From the command line to a measurement, with GPUs or with RNICs. */
#pragma once

struct all_to_all_plan;
struct err;
struct probe;

/* As struct probe_desc's run(). */
int all_to_all_start_gpus(struct probe *probe, struct err *err);
int all_to_all_start_rnics(struct probe *probe, struct err *err);

/* What both begin with; all of an engine is to be added. Free it. */
struct all_to_all_plan *all_to_all_plan_new(struct probe *probe);

/*
 * Run `work` with the best that was measured before under `key`, and keep the new best. What
 * `work` returned.
 */
int all_to_all_with_known(struct all_to_all_plan *plan, const char *key,
			  int (*work)(struct all_to_all_plan *plan, struct err *err),
			  struct err *err);
