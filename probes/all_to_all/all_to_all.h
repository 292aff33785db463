/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-all-to-all: every GPU of the host sends to every other at once,
 * through NCCL. Bus bandwidth over sizes (all_to_all.busbw, size_bw), exact
 * data (correct), each ordered pair alone (pair_bw), and the NVLinks that are
 * up (nvlinks): one that is lost costs a GPU 5.6 % (H100) or 8.3 % (A100), which
 * a bandwidth alone does not tell from noise.
 *
 *	all_to_all_run    who else is there -> links -> set up -> data -> sizes -> pairs
 *
 * Everything but all_to_all_main.c knows only accel.h, coll.h, nccl.h and a sink.
 */
#pragma once

#include <stdint.h>

#include "lib/err.h"
#include "lib/report.h"
#include "probes/accel/accel.h"
#include "probes/coll/nccl.h"

/* The subject of what all GPUs of the host do together. */
#define ALL_TO_ALL_SUBJECT "gpus"

enum {
	ALL_TO_ALL_SIZE_MIN = 64 * 1024,
	ALL_TO_ALL_CHECK_BYTES = 16 * 1024 * 1024, /* of each GPU's buffer that is compared */
	ALL_TO_ALL_WINDOWS = 16,
	ALL_TO_ALL_NOTE_SIZE = 512,
};
#define ALL_TO_ALL_SIZE_MAX (UINT64_C(1) << 30)

struct all_to_all_plan {
	struct accel *accel;
	struct nccl_library library;
	uint64_t size; /* of each GPU's buffer, the largest */
	uint64_t seed;
	bool full;     /* pairs always, not only on suspicion */
	bool run_busy; /* measure although others use a GPU, and say so */
	double known;  /* best bandwidth of this size here so far, B/s; NAN. Out: the new best */
	uint64_t deadline_us; /* on the engine's clock */
	int64_t epoch_us;     /* UNIX time less the engine's clock */
	/* Takes `s` and leaves it as by sample_init(). */
	int (*emit)(void *context, struct sample *s);
	void *context;
};

struct all_to_all {
	struct all_to_all_plan *plan;
	struct coll *coll;
	unsigned n;
	struct accel_device_info devices[COLL_RANKS_MAX];
	uint64_t bytes;			    /* of each buffer */
	char busy[ALL_TO_ALL_NOTE_SIZE];    /* who else is there, a sentence; "" nobody */
	char suspect[ALL_TO_ALL_NOTE_SIZE]; /* why pairs are measured; "" nothing is suspect */
	struct sample total;		    /* all_to_all.busbw, told last: pairs add to its note */
	double *pairs;			    /* n x n, B/s of row to column; NULL until measured */
	bool over; /* an operation did not end: nothing more can be measured */
};

/*
 * Measure and emit. -ENODEV with fewer than two GPUs, else what `emit` returned.
 * A GPU or link that hangs or fails is a sample.
 */
int all_to_all_run(struct all_to_all_plan *plan, struct err *err);

/* --- all_to_all_sample.c --- */

/* A sample of `check` with params for operations of `bytes`. */
struct sample all_to_all_sample(const struct all_to_all *t, const char *check, const char *subject,
				uint64_t bytes);

int all_to_all_emit(struct all_to_all *t, struct sample *s);

/* How the set-up failed, with the GPU in `why` as its subject when it begins with one. */
int all_to_all_tell_failure(struct all_to_all *t, int failed, const char *why);

/* --- all_to_all_rate.c --- */

/*
 * One operation of `bytes`, in its time. False when it did not end: that was
 * told as a sample of `check`, and t->over is set.
 */
bool all_to_all_once(struct all_to_all *t, const char *check, uint64_t bytes);

/* all_to_all.correct. What the sink returned. */
int all_to_all_verify(struct all_to_all *t);

/* all_to_all.size_bw of each size, and t->total of the largest. What the sink returned. */
int all_to_all_rate(struct all_to_all *t);

/* --- all_to_all_pairs.c --- */

/* all_to_all.pair_bw of each ordered pair; what a slow GPU does goes to t->total's note. */
int all_to_all_pairs(struct all_to_all *t);

/*
 * The GPU through whose pairs less flows: the median of its row and column is below
 * 97 % of the median of the others' (n x n rates, n >= 3); COLL_NOBODY. Pure.
 */
int all_to_all_slow(const double *pairs, unsigned n, double *ret_part);

/* --- all_to_all_links.c --- */

/* all_to_all.nvlinks of each GPU that has any. */
int all_to_all_links(struct all_to_all *t);
