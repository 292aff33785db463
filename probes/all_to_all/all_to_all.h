/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-all-to-all: every end of the host sends to every other at once.
 * Bus bandwidth over sizes (busbw, size_bw), exact data (correct), each ordered
 * pair alone (pair_bw).
 *
 *	GPUs through NCCL (all_to_all_gpus.c): and the NVLinks that are up (nvlinks):
 *	one that is lost costs a GPU 5.6 % (H100) or 8.3 % (A100), which a bandwidth
 *	alone does not tell from noise.
 *	Ports of RNICs over the fabric, on memory of the host (all_to_all_rnics.c).
 *
 *	who else is there -> (links) -> set up -> all_to_all_measure(): data -> sizes -> pairs
 *
 * What is the same of both is here; it knows coll.h and a sink. A group has all its
 * ranks in this process (struct coll_whole_ops).
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
	const char *busbw, *size_bw, *pair_bw, *correct; /* checks */
	const char *all;  /* the subject of what all ends do together: "gpus" */
	const char *ends; /* in a sentence: "GPUs" */
	/* All that must be equal for two samples of operations of `bytes` to be compared. New
	 * reference. */
	json_t *(*params)(const struct all_to_all *t, uint64_t bytes);
	/* The ends, class and path of a sample of a pair. */
	void (*place)(const struct all_to_all *t, const struct coll_move *m, struct sample *s);
	/*
	 * Around what is timed: end() makes a sample of what others spoiled meanwhile that of it.
	 * NULL: nobody can be seen.
	 */
	void (*begin)(struct all_to_all *t);
	void (*end)(struct all_to_all *t, struct sample *s);
};

struct all_to_all_plan {
	const struct all_to_all_kind *kind;
	uint64_t size; /* of each buffer, the largest */
	uint64_t seed;
	bool full;     /* pairs always, not only on suspicion */
	bool run_busy; /* measure although others use an end, and say so */
	double known;  /* best bandwidth of this size here so far, B/s; NAN. Out: the new best */
	uint64_t begin_us, deadline_us; /* on the group's clock */
	int64_t epoch_us;		/* UNIX time less that clock */
	/* Takes `s` and leaves it as by sample_init(). */
	int (*emit)(void *context, struct sample *s);
	void *context;
	/* Of GPUs: */
	struct accel *accel;
	uint64_t ready_us; /* when all GPUs must have started; monotonic */
	bool leaves;	   /* the process ends at once: nothing is given back */
	struct nccl_library library;
	/* Of RNICs: */
	struct pair_plan *ports;
	unsigned depth, mtu; /* pieces under way to each peer; bytes of a packet, 0: the ports' */
};

/* One rank. */
struct all_to_all_end {
	char subject[ALL_TO_ALL_SUBJECT_SIZE]; /* "gpu:GPU-...", "mlx5_0:1" */
	char pci[16];			       /* "0000:1b:00.0", "" without */
};

struct all_to_all {
	struct all_to_all_plan *plan;
	struct coll *coll;
	unsigned n;
	struct all_to_all_end ends[COLL_RANKS_MAX];
	uint64_t bytes;			    /* of each buffer */
	char busy[ALL_TO_ALL_NOTE_SIZE];    /* who else is there, a sentence; "" nobody */
	char suspect[ALL_TO_ALL_NOTE_SIZE]; /* why pairs are measured; "" nothing is suspect */
	int links_to;			    /* enum accel_links, of all GPUs */
	struct sample total; /* the busbw of the largest size, told last: pairs add to its note */
	double *pairs;	     /* n x n, B/s of row to column; NULL until measured */
	bool over;	     /* an operation did not end: nothing more can be measured */
	bool spoiled; /* some of `pairs` say nothing: others were there, or a port went away */
	void *guard;  /* of the kind; owned */
};

/* --- samples --- */

/* A sample of `check` with params for operations of `bytes`. */
struct sample all_to_all_sample(const struct all_to_all *t, const char *check, const char *subject,
				uint64_t bytes);

int all_to_all_emit(struct all_to_all *t, struct sample *s);

/* How the set-up failed, with the end in `why` as its subject when it begins with one. */
int all_to_all_tell_failure(struct all_to_all *t, int failed, const char *why);

/* Who comes while we measure is given way: what is left is told as busy. */
static inline bool all_to_all_gives_way(const struct all_to_all *t)
{
	return t->busy[0] && !t->plan->run_busy;
}

/* Take back what was measured: it is no rate of the device. */
void all_to_all_forget(struct sample *s);

/* Nothing is measured because others are there: t->busy. */
int all_to_all_tell_busy(struct all_to_all *t);

/* Subjects of a set of ranks. New vector. */
char **all_to_all_subjects(const struct all_to_all *t, uint64_t ranks);

/* --- links --- */

/* all_to_all.nvlinks of each GPU that has any. */
int all_to_all_links(struct all_to_all *t);
