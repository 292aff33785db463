/* SPDX-License-Identifier: Apache-2.0 */
/* From the command line to a measurement, with GPUs or with RNICs. */
#pragma once

struct all_to_all_plan;
struct err;
struct probe;

/* As run() of struct probe_desc. */
int all_to_all_start_gpus(struct probe *probe, struct err *err);
int all_to_all_start_rnics(struct probe *probe, struct err *err);

/* The common part of a plan, without the engine's members. The caller frees it. */
struct all_to_all_plan *all_to_all_plan_new(struct probe *probe);

/*
 * Run `work` with the best value measured before under `key`, and save the new best. Returns the
 * result of `work`.
 */
int all_to_all_with_known(struct all_to_all_plan *plan, const char *key,
			  int (*work)(struct all_to_all_plan *plan, struct err *err),
			  struct err *err);
