/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam to collective operations: a group of ranks that exchange data, and
 * what this process sees of it. verbs.c is a ring over RDMA on host memory with
 * one rank of this process; verbs_exchange.c everybody with everybody over RDMA,
 * with as many ranks of this process as it has ports; nccl.c has all GPUs of the
 * host as ranks of it. Above it (coll.c, the probes) nobody knows which.
 *
 *	(an engine makes a struct coll of connected ranks)
 *	put ... -> start -> turn, wait ... -> get     as often as wanted
 *	abort -> close, or close
 *
 * Nothing here blocks but wait(), which has a deadline: calls of a library that
 * may hang are made non-blocking or in a thread of the engine. Who drives a
 * group is coll_run() of this header, and nothing else needs turn() and wait().
 *
 * Errors are of the set-up. What becomes of an operation is told by its ranks:
 * a dead link or a rank that never came is a finding (struct coll_result).
 *
 * Elements are float32 whose values are small integers (coll_value()), so that
 * a sum over all ranks is exact in every order and engine. One flipped bit shows,
 * but for the last ones of a summand, which a sum may round off.
 *
 * Bus bandwidth: nccl-tests, doc/PERFORMANCE.md.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct coll;

enum {
	COLL_RANKS_MAX = 64,
	COLL_WHY_SIZE = 512,
	/* Values of coll_value() are below this: 64 of them add up to less than 2^24. */
	COLL_VALUE_MAX = 1 << 17,
	COLL_NOBODY = -1,
	COLL_REPEAT_MAX = 64, /* operations between two looks at a clock */
};

/* Of a rank, in a set of ranks. */
#define COLL_RANK_BIT(rank) (UINT64_C(1) << (rank))

/* The largest buffer of a rank, bytes. */
#define COLL_BYTES_MAX (UINT64_C(1) << 34)

enum coll_kind {
	COLL_ALL_REDUCE, /* every rank ends with the sum of all ranks' buffers */
	COLL_ALL_TO_ALL, /* block j of rank i becomes block i of rank j */
	/*
	 * What an all-reduce moves, and nothing added up: each block ends as it was at the rank
	 * before its number, at all ranks.
	 */
	COLL_PASS_ON,
	COLL_KINDS,
};

struct coll_op {
	int kind;	/* enum coll_kind */
	uint64_t bytes; /* of each rank's buffer: a multiple of 4 x the number of ranks */
};

/* One rank's part in an operation, on the clock of the group (now_ns). */
struct coll_rank {
	bool arrived; /* it began: its data is on the way */
	bool ended;
	uint64_t arrived_ns, ended_ns;
	/*
	 * What it sent to its next rank while it had to wait for nobody, and how long that took:
	 * the rate of that link alone, however slow the others are. 0 bytes: the engine cannot tell.
	 */
	uint64_t sent_bytes;
	double sent_s;
};

enum coll_state {
	COLL_IDLE,
	COLL_UNDER_WAY,
	COLL_DONE,
	COLL_FAILED, /* the fabric or a device said so: `why` */
	COLL_LATE,   /* the deadline came first */
	COLL_TOLD,   /* somebody else gave it up: the `watch` of coll_run() */
};

struct coll_result {
	int state; /* enum coll_state */
	/* Of the ranks of this process, by rank less `first`. */
	struct coll_rank ranks[COLL_RANKS_MAX];
	/* The rank that did not arrive, or whose link failed; COLL_NOBODY when it cannot be told. */
	int suspect;
	/*
	 * All of them, a bit each (COLL_RANK_BIT), when there are several: ranks that did not
	 * arrive, did not end what others ended, or did not let go. 0: it cannot be told, or
	 * `suspect` alone.
	 */
	uint64_t suspects;
	char why[COLL_WHY_SIZE]; /* a sentence; "" when done */
};

struct coll_ops {
	const char *name; /* "verbs", "nccl", "simulated" */
	/*
	 * Copy `bytes` at `offset` of the buffer of a rank of this process to or from memory of
	 * the host. put() is of what the operation takes, get() of what it left there; for
	 * an all-reduce they are the same buffer, so put() again before each one that is checked.
	 */
	int (*put)(struct coll *c, unsigned rank, uint64_t offset, const void *from, uint64_t bytes,
		   struct err *err);
	int (*get)(struct coll *c, unsigned rank, uint64_t offset, void *to, uint64_t bytes,
		   struct err *err);
	/* Begin on all ranks of this process. -EOPNOTSUPP: not this kind. -EINVAL: its size. */
	int (*start)(struct coll *c, const struct coll_op *op, struct err *err);
	/*
	 * Get on with it, without waiting: 1 when something happened, 0 when not. c->result is
	 * brought up to date; its state leaves COLL_UNDER_WAY when all is over.
	 */
	int (*turn)(struct coll *c, struct err *err);
	/* Until turn() may have something: 0; -ETIME at the deadline (of now_ns, in us). */
	int (*wait)(struct coll *c, uint64_t deadline_us, struct err *err);
	/*
	 * Give up what is under way, within COLL_ABORT_US; then only close() may follow. The
	 * result keeps what was known.
	 */
	void (*abort)(struct coll *c);
	void (*close)(struct coll *c);	    /* frees `c` */
	uint64_t (*now_ns)(struct coll *c); /* monotonic, of this process */
	const struct coll_whole_ops *whole; /* NULL: some ranks are of other processes */
};

/* One block of an all-to-all: that of rank `from` for rank `to`. */
struct coll_move {
	unsigned from, to;
};

/* What a group can besides, all of whose ranks are of this process: coll_repeat() and coll_only() too. */
struct coll_whole_ops {
	/* Seconds of the last operation at that rank; NAN when it was not in it. */
	double (*seconds)(const struct coll *c, unsigned rank);
	/*
	 * Copy what is in the first `bytes` of what each rank sends over all of it, so
	 * that large operations move no zeros.
	 */
	int (*spread)(struct coll *c, uint64_t bytes, struct err *err);
	/*
	 * Before an all-to-all that will be checked: put into the first `bytes` of what each
	 * rank receives what it must not contain afterwards.
	 */
	int (*blot)(struct coll *c, uint64_t bytes, struct err *err);
	/*
	 * What an operation failed with (COLL_FAILED): -ENODEV of an end that is lost, -EIO of a
	 * sick one or a dead way, -EPROTO of the library, -EINVAL of the set-up.
	 */
	int (*error)(const struct coll *c);
};

/* Within which an engine lets go of its devices; after that the process has to end. */
#define COLL_ABORT_US (UINT64_C(10) * 1000 * 1000)

/* A group begins with this. */
struct coll {
	const struct coll_ops *ops;
	unsigned n;		/* ranks of all processes, 2 to COLL_RANKS_MAX */
	unsigned first, n_here; /* those of this process */
	uint64_t bytes;		/* of the buffer of each rank: the largest operation */
	unsigned times;		/* coll_repeat() */
	unsigned n_moves;	/* coll_only(); 0: everybody to everybody */
	struct coll_move moves[COLL_RANKS_MAX];
	struct coll_result result;
};

/* How often start() does the operation, 1 (as it begins) to COLL_REPEAT_MAX; times are those of one. */
void coll_repeat(struct coll *c, unsigned times);

/*
 * From now on an all-to-all moves these blocks only; n = 0: all again. No
 * rank may be in two of them as a sender, nor in two as a receiver. Copied.
 */
void coll_only(struct coll *c, const struct coll_move *moves, unsigned n);

/*
 * Called between turns, at least every 10 ms: true when the operation is to be
 * given up, with the reason and the rank at fault (COLL_NOBODY) for the result.
 */
struct coll_watch {
	bool (*look)(void *context, int *ret_suspect, char ret_why[static COLL_WHY_SIZE]);
	void *context;
};

/*
 * One operation, from start to the end or the deadline (monotonic microseconds
 * of now_ns()); `watch` may be NULL. 0 with c->result, whatever became of it; it is
 * aborted unless it is done. A negative errno: it could not be started.
 */
int coll_run(struct coll *c, const struct coll_op *op, uint64_t deadline_us,
	     const struct coll_watch *watch, struct err *err);
