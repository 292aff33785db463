/* SPDX-License-Identifier: Apache-2.0 */
/* Private to gemm_overlap*.c. */
#pragma once

#include "probes/gemm/gemm.h"
#include "probes/gemm/gemm_window.h"

enum { OVERLAP_GOES_MAX = 4096 }; /* with recorded bandwidth */

struct overlap {
	struct gemm_run *run;
	struct coll *coll;
	struct coll_op op;
	unsigned n; /* ranks */
	struct gemm_stretch stretch;
	bool over;		       /* all windows are full, or time is up */
	size_t *n_sure;		       /* overlapped windows, by GPU */
	double alone;		       /* bus bandwidth without products, B/s; NAN */
	double goes[OVERLAP_GOES_MAX]; /* with products, for each go */
	size_t n_goes;
	int failed;  /* 0, or the negative errno of the failed collective */
	int suspect; /* rank at fault; COLL_NOBODY */
	char why[ERR_MSG_SIZE];
};

/*
 * Create communicators of all GPUs, and data; a failure is stored in the result. With
 * `plan->leaves` it is not to be freed.
 */
struct overlap *gemm_overlap_new(struct gemm_run *run);
void gemm_overlap_free(struct overlap *o);

/*
 * Run some collectives without products. Determines how many of them make a go, and their
 * bandwidth. Returns false if they failed.
 */
bool gemm_overlap_try_alone(struct overlap *o, unsigned *ret_times);

/*
 * Run a go of `times` collectives and record their bandwidth; `watch` is called meanwhile. Returns
 * false if they failed or did not end; it must then not be called again.
 */
bool gemm_overlap_go(struct overlap *o, unsigned times, const struct coll_watch *watch);

/* Emit gemm.overlap for each GPU, measured from `start_us` on. */
int overlap_emit(struct overlap *o, uint64_t start_us);

/* Emit the result of the collective itself: for information, or what went wrong. */
int overlap_emit_busbw(struct overlap *o, uint64_t start_us);

/* Emit that it cannot be measured because one GPU is absent. */
int overlap_emit_absent(const struct overlap *o, const struct gemm_device *absent);
