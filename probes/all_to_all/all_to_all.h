/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-all-to-all: every end of the host sends to every other at once. Measures bus
 * bandwidth by size (busbw, size_bw), data integrity (correct), and each ordered pair alone
 * (pair_bw).
 *
 *	GPUs through NCCL (all_to_all_gpus.c), and the NVLinks that are up (nvlinks): a lost
 *	link costs a GPU 5.6 % (H100) or 8.3 % (A100), which bandwidth alone does not
 *	distinguish from noise.
 *	RNIC ports over the fabric, on host memory (all_to_all_rnics.c).
 *
 *	other users -> (links) -> set-up -> all_to_all_measure(): data -> sizes -> pairs
 *
 * The common part is here; it only knows coll.h and a sink for samples. All ranks of the group are
 * in this process (struct coll_whole_ops).
 */
#pragma once

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/report/report.h"
#include "probes/accel/accel.h"
#include "probes/coll/coll.h"
#include "probes/coll/nccl.h"
#include "probes/coll/nccl_load.h"

enum {
	ALL_TO_ALL_SIZE_MIN = 64 * 1024,
	ALL_TO_ALL_CHECK_BYTES = 16 * 1024 * 1024, /* of each buffer that is compared */
	ALL_TO_ALL_WINDOWS = 16,
	ALL_TO_ALL_NOTE_SIZE = 512,
	ALL_TO_ALL_SUBJECT_SIZE = 80,
};
#define ALL_TO_ALL_SIZE_MAX (UINT64_C(1) << 30)

struct all_to_all;
struct pair_plan;

/* What is measured, and between what. */
struct all_to_all_kind {
	const char *busbw, *size_bw, *pair_bw, *correct; /* names of the checks */
	const char *all;  /* subject of what all ends do together: "gpus" */
	const char *ends; /* for messages: "GPUs" */
	/*
	 * Everything that must be equal for samples of operations of `bytes` to be comparable.
	 * Returns a new reference.
	 */
	json_t *(*params)(const struct all_to_all *t, uint64_t bytes);
	/* Fill in the ends, class and path of a sample of a pair. */
	void (*place)(const struct all_to_all *t, const struct coll_move *m, struct sample *s);
	/*
	 * Called around what is timed; end() marks a sample that others disturbed. NULL: other
	 * users cannot be detected.
	 */
	void (*begin)(struct all_to_all *t);
	void (*end)(struct all_to_all *t, struct sample *s);
};

struct all_to_all_plan {
	const struct all_to_all_kind *kind;
	uint64_t size; /* maximum size of each buffer */
	uint64_t seed;
	bool full;     /* always measure pairs, not only on suspicion */
	bool run_busy; /* measure even if others use an end, and say so */
	double known;  /* best bandwidth of this size here so far, B/s; NAN. Out: the new best */
	uint64_t begin_us, deadline_us; /* on the group's clock */
	int64_t epoch_us;		/* UNIX time minus that clock */
	/* Takes ownership of the contents of `s`, leaving it as by sample_init(). */
	int (*emit)(void *context, struct sample *s);
	void *context;
	/* GPUs only: */
	struct accel *accel;
	uint64_t ready_us; /* deadline for all GPUs to start; monotonic */
	bool leaves;	   /* the process exits right away: nothing is released */
	struct nccl_library library;
	/* RNICs only: */
	struct pair_plan *ports;
	unsigned depth, mtu; /* outstanding pieces per peer; packet size in bytes, 0: the ports' */
};

/* One rank. */
struct all_to_all_end {
	char subject[ALL_TO_ALL_SUBJECT_SIZE]; /* "gpu:GPU-...", "mlx5_0:1" */
	char pci[16];			       /* "0000:1b:00.0"; "" if none */
};

struct all_to_all {
	struct all_to_all_plan *plan;
	struct coll *coll;
	unsigned n;
	struct all_to_all_end ends[COLL_RANKS_MAX];
	uint64_t bytes;			    /* size of each buffer */
	char busy[ALL_TO_ALL_NOTE_SIZE];    /* a sentence about other users; "": none */
	char suspect[ALL_TO_ALL_NOTE_SIZE]; /* why pairs are measured; "": no suspicion */
	int links_to;			    /* enum accel_links, for all GPUs */
	struct sample total; /* busbw of the largest size, emitted last: pairs add to its note */
	double *pairs;	     /* n x n, B/s from row to column; NULL until measured */
	bool over;	     /* an operation did not end: nothing more can be measured */
	bool spoiled;	     /* some of `pairs` are invalid: other users, or a port went away */
	void *guard;	     /* owned by the kind; freed with this */
};

/* --- samples --- */

/* A sample of `check`, with params for operations of `bytes`. */
struct sample all_to_all_sample(const struct all_to_all *t, const char *check, const char *subject,
				uint64_t bytes);

int all_to_all_emit(struct all_to_all *t, struct sample *s);

/* Report a set-up failure. If `why` begins with an end, that end is the subject. */
int all_to_all_tell_failure(struct all_to_all *t, int failed, const char *why);

/* If others start to use an end, stop; the rest is reported as busy. */
static inline bool all_to_all_gives_way(const struct all_to_all *t)
{
	return t->busy[0] && !t->plan->run_busy;
}

/* Remove the measured values: they are not a rate of the device. */
void all_to_all_forget(struct sample *s);

/* Report that nothing is measured because others are there: t->busy. */
int all_to_all_tell_busy(struct all_to_all *t);

/* Subjects of a set of ranks. The caller frees the vector. */
char **all_to_all_subjects(const struct all_to_all *t, uint64_t ranks);

/* --- links --- */

/* Emit all_to_all.nvlinks for each GPU that has NVLinks. */
int all_to_all_links(struct all_to_all *t);
