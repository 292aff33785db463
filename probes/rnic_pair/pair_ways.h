/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is measured of a pair only when it is asked for: sends and receives in
 * place of writes, and writes in both directions at once.
 */
#pragma once

#include "probes/rnic_pair/pair_plan.h"

/* How many of them the options ask for. */
size_t pair_ways_count(const struct pair_options *o);

/*
 * Measure those of `n` jobs that connect, all at once, `us` each way, over queue
 * pairs of their own; the samples of the others say why not. Fails only as
 * probe_emit() does.
 */
int pair_ways_run(const struct pair_plan *p, struct pair_job *jobs, size_t n, uint64_t us);
