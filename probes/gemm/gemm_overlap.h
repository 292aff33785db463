/* SPDX-License-Identifier: Apache-2.0 */
/* Inside gemm_overlap*.c only. */
#pragma once

#include "probes/gemm/gemm.h"
#include "probes/gemm/gemm_window.h"

enum { OVERLAP_GOES_MAX = 4096 }; /* whose bandwidth is kept */

struct overlap {
	struct gemm_run *run;
	struct coll *coll;
	struct coll_op op;
	unsigned n; /* ranks */
	struct gemm_stretch stretch;
	bool over;		       /* all windows are full, or their time is up */
	size_t *n_sure;		       /* windows of each GPU that were overlapped */
	double alone;		       /* bus bandwidth without products, B/s; NAN */
	double goes[OVERLAP_GOES_MAX]; /* with them, of each go */
	size_t n_goes;
	int failed;  /* 0, or how the collective ended: a negative errno */
	int suspect; /* its rank; COLL_NOBODY */
	char why[ERR_MSG_SIZE];
};

/* Communicators of all GPUs, and data; what failed is in it. With `plan->leaves` nothing is given back. */
struct overlap *gemm_overlap_new(struct gemm_run *run);
void gemm_overlap_free(struct overlap *o);

/* Some collectives without products: how many of them are a go, and their bandwidth. False: it
 * failed. */
bool gemm_overlap_try_alone(struct overlap *o, unsigned *ret_times);

/*
 * A go of `times` collectives, of which the bandwidth is kept; `watch` looks meanwhile. False when
 * they failed or did not end: never try again.
 */
bool gemm_overlap_go(struct overlap *o, unsigned times, const struct coll_watch *watch);

/* Tell gemm.overlap of each GPU, as it was measured from `start_us` on. */
int overlap_emit(struct overlap *o, uint64_t start_us);

/* Tell how the collective itself fared: for information, or what was wrong with it. */
int overlap_emit_busbw(struct overlap *o, uint64_t start_us);

/* Tell that it cannot be measured without one of them. */
int overlap_emit_absent(const struct overlap *o, const struct gemm_device *absent);
