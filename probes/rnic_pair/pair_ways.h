/* SPDX-License-Identifier: Apache-2.0 */
/* Optional measurements: sends instead of writes, and writes in both directions at once. */
#pragma once

#include "probes/rnic_pair/pair_plan.h"

/* The number of optional measurements that are asked for. */
size_t pair_ways_count(const struct pair_options *o);

/*
 * Run the optional measurements on those of `n` jobs that connect, all at once, `us` each, over
 * separate queue pairs. Samples of the other jobs say why not. Fails only as probe_emit() does.
 */
int pair_ways_run(const struct pair_plan *p, struct pair_job *jobs, size_t n, uint64_t us);
