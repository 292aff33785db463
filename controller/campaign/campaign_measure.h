/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a campaign measures: which test, in which memory, with which engine. Each combination that
 * the probes support has its own check, so a good result in host memory never clears a finding
 * about GPU memory (docs/all-reduce.md, docs/collectives.md).
 */
#pragma once

struct err;

enum campaign_kind { CAMPAIGN_ALLREDUCE, CAMPAIGN_PAIR };
enum campaign_memory { CAMPAIGN_HOST_MEMORY, CAMPAIGN_GPU_MEMORY };
enum campaign_engine { CAMPAIGN_VERBS, CAMPAIGN_NCCL };

/* Indexed by the enums above, NULL-terminated; also the values in an order (docs/formats.md). */
extern const char *const campaign_kind_names[];	  /* "allreduce" "pair" */
extern const char *const campaign_memory_names[]; /* "host" "gpu" */
extern const char *const campaign_engine_names[]; /* "verbs" "nccl" */

struct campaign_measure {
	int kind, memory, engine;
};

/* Returns -EINVAL with a sentence if no probe measures this combination. */
int campaign_measure_check(const struct campaign_measure *m, struct err *err);

/* Returns the check that members report, such as "all_reduce.gpu_busbw", or NULL if none. */
const char *campaign_measure_name(const struct campaign_measure *m);

/*
 * Returns the measurement that retests `check`: for "rnic_pair.gpu_write_lat", pairs in GPU memory.
 * Pairs in host memory for checks of other families.
 */
struct campaign_measure campaign_measure_for(const char *check);
