/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The burn: minutes of products on all GPUs at once, with an all-reduce among them beside it where
 * there is NCCL, and what each is like meanwhile. What a fan, paste or blocked air does to a
 * GPU shows after a minute or two of it, not in the seconds of gemm.rate.
 *
 *	gemm.burn_rate      FLOP/s in its last part, and in `w` over time
 *	gemm.burn_kept      that of what it was in its first part
 *	gemm.burn_hbm_temp  C of its memory in the last part, and over time
 *	gemm.burn_gpu_temp, gemm.burn_clock, gemm.burn_power   likewise, the latter two for people
 *	gemm.overlap_busbw  bytes/s of the all-reduce
 *
 * What is made of them: gemm_burn_cause.h.
 */
#pragma once

#include "probes/gemm/gemm.h"
#include "probes/gemm/gemm_burn_cause.h"
#include "probes/gemm/gemm_window.h"

struct overlap;

/* What a slot is made of while it lasts. */
struct burn_tally {
	double sum[BURN_WHATS]; /* but for the rate: that is of all windows taken */
	unsigned n[BURN_WHATS]; /* looks that told it */
	uint64_t reasons;
};

struct burn {
	struct gemm_run *run;
	struct overlap *links; /* NULL: they are not loaded */
	struct gemm_stretch stretch;
	uint64_t start_us, slot_us; /* of the first slot */
	uint64_t due_us;	    /* when all are looked at next */
	size_t slot;		    /* the present one; BURN_SLOTS: over */
	bool warm, over;
	struct burn_tally *tallies; /* of each GPU */
	struct burn_series *series;
};

/* Burn for plan->rate_us and emit. */
int gemm_burn(struct gemm_run *run);
