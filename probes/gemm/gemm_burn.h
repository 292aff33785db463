/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The burn: minutes of products on all GPUs at once, with all-reduces beside them if there is NCCL,
 * and how each GPU behaves meanwhile. Problems of a fan, thermal paste or blocked airflow show
 * after a minute or two of that, not in the seconds of gemm.rate.
 *
 *	gemm.burn_rate      FLOP/s in its last part, and in `w` over time
 *	gemm.burn_kept      that relative to its first part
 *	gemm.burn_hbm_temp  C of its memory in the last part, and over time
 *	gemm.burn_gpu_temp, gemm.burn_clock, gemm.burn_power   the same; the latter two for people
 *	gemm.overlap_busbw  bytes/s of the all-reduce
 *
 * gemm_burn_cause.h interprets them.
 */
#pragma once

#include "probes/gemm/gemm.h"
#include "probes/gemm/gemm_burn_cause.h"
#include "probes/gemm/gemm_window.h"

struct overlap;

/* Accumulates the values of a slot. */
struct burn_tally {
	double sum[BURN_WHATS]; /* except the rate, which covers all windows taken */
	unsigned n[BURN_WHATS]; /* readings that include it */
	uint64_t reasons;
};

struct burn {
	struct gemm_run *run;
	struct overlap *links; /* NULL: no all-reduce */
	struct gemm_stretch stretch;
	uint64_t start_us, slot_us; /* start of the first slot, length of a slot */
	uint64_t due_us;	    /* time of the next reading */
	size_t slot;		    /* current slot; BURN_SLOTS: over */
	bool warm, over;
	struct burn_tally *tallies; /* by GPU */
	struct burn_series *series;
};

/* Burn for plan->rate_us, and emit. */
int gemm_burn(struct gemm_run *run);
