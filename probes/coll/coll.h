/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface to collective operations: a group of ranks that exchange data, as seen by this
 * process. Implementations: verbs.c is a ring over RDMA on host memory or GPU memory, with one rank
 * in this process; verbs_exchange.c sends from every rank to every other over RDMA, with one rank
 * in this process per port; nccl.c has all GPUs of the host as its ranks. The code above it
 * (coll.c, the probes) does not know which one it uses.
 *
 *	(an engine makes a struct coll of connected ranks)
 *	put ... -> start -> turn, wait ... -> get     any number of times
 *	abort -> close, or close
 *
 * Only wait() blocks, and it has a deadline; library calls that may hang are non-blocking or made
 * in a thread of the engine. Callers use coll_run() below and never call turn() and wait()
 * themselves.
 *
 * Errors are about set-up only. The outcome of an operation is reported per rank in struct
 * coll_result: a dead link or a rank that never arrived is a finding.
 *
 * Elements are float32 with small integer values (coll_value()), so that the sum over all ranks is
 * exact in any order and with any engine. A single flipped bit is detected, except in the lowest
 * bits of a summand, which a sum may round off.
 *
 * Bus bandwidth is defined in nccl-tests, doc/PERFORMANCE.md.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct coll;

enum {
	COLL_RANKS_MAX = 64,
	COLL_WHY_SIZE = 512,
	/* Bound on the values of coll_value(): the sum of 64 is below 2^24. */
	COLL_VALUE_MAX = 1 << 17,
	COLL_NOBODY = -1,
	COLL_REPEAT_MAX = 64, /* operations between two readings of the clock */
};

/* The bit of a rank in a set of ranks. */
#define COLL_RANK_BIT(rank) (UINT64_C(1) << (rank))

/* Maximum buffer size of a rank, in bytes. */
#define COLL_BYTES_MAX (UINT64_C(1) << 34)

enum coll_kind {
	COLL_ALL_REDUCE, /* every rank ends with the sum of all buffers */
	COLL_ALL_TO_ALL, /* block j of rank i becomes block i of rank j */
	/*
	 * The data movement of an all-reduce without the sums: at all ranks, each block ends as it
	 * was at the rank before its number.
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
	 * What it sent to the next rank while waiting for nobody, and how long that took: the rate
	 * of that link alone, however slow the others are. 0 bytes: the engine cannot tell.
	 */
	uint64_t sent_bytes;
	double sent_s;
};

enum coll_state {
	COLL_IDLE,
	COLL_UNDER_WAY,
	COLL_DONE,
	COLL_FAILED, /* the fabric or a device reported a failure: `why` */
	COLL_LATE,   /* the deadline passed */
	COLL_TOLD,   /* given up on behalf of others: the `watch` of coll_run() */
};

struct coll_result {
	int state; /* enum coll_state */
	/* The ranks of this process, indexed by rank - `first`. */
	struct coll_rank ranks[COLL_RANKS_MAX];
	/* The rank that did not arrive, or whose link failed; COLL_NOBODY if unknown. */
	int suspect;
	/*
	 * If there are several suspects, a bit for each (COLL_RANK_BIT): ranks that did not arrive,
	 * did not finish what others finished, or did not release their GPU. 0: unknown, or only
	 * `suspect`.
	 */
	uint64_t suspects;
	char why[COLL_WHY_SIZE]; /* a sentence; "" if done */
};

struct coll_ops {
	const char *name; /* "verbs", "nccl", "simulated" */
	/*
	 * Copy `bytes` at `offset` of the buffer of a rank of this process from or to host memory.
	 * put() sets the input of the operation and get() reads its output. For an all-reduce both
	 * are the same buffer, so put() must be repeated before each operation that is checked.
	 */
	int (*put)(struct coll *c, unsigned rank, uint64_t offset, const void *from, uint64_t bytes,
		   struct err *err);
	int (*get)(struct coll *c, unsigned rank, uint64_t offset, void *to, uint64_t bytes,
		   struct err *err);
	/* Begin on all ranks of this process. -EOPNOTSUPP: unsupported kind. -EINVAL: bad size. */
	int (*start)(struct coll *c, const struct coll_op *op, struct err *err);
	/*
	 * Make progress without blocking. Returns 1 if something happened, 0 if not. Updates
	 * c->result, whose state leaves COLL_UNDER_WAY when the operation is over.
	 */
	int (*turn)(struct coll *c, struct err *err);
	/* Wait until turn() may make progress: 0, or -ETIME at the deadline (now_ns, in us). */
	int (*wait)(struct coll *c, uint64_t deadline_us, struct err *err);
	/*
	 * Give up the current operation, within COLL_ABORT_US. Only close() may follow. The result
	 * keeps what was known.
	 */
	void (*abort)(struct coll *c);
	void (*close)(struct coll *c);	    /* frees `c` */
	uint64_t (*now_ns)(struct coll *c); /* monotonic, of this process */
	const struct coll_whole_ops *whole; /* NULL: some ranks are in other processes */
};

/* One block of an all-to-all: from rank `from` to rank `to`. */
struct coll_move {
	unsigned from, to;
};

/*
 * Extra operations of a group whose ranks are all in this process; it also supports coll_repeat()
 * and coll_only().
 */
struct coll_whole_ops {
	/* Duration in seconds of the last operation at the rank; NAN if it took no part. */
	double (*seconds)(const struct coll *c, unsigned rank);
	/*
	 * Repeat the first `bytes` of each rank's send data over its whole buffer, so that large
	 * operations do not move zeros.
	 */
	int (*spread)(struct coll *c, uint64_t bytes, struct err *err);
	/*
	 * Before a checked all-to-all: fill the first `bytes` of each rank's receive buffer with
	 * data that cannot be the result.
	 */
	int (*blot)(struct coll *c, uint64_t bytes, struct err *err);
	/*
	 * Why an operation failed (COLL_FAILED): -ENODEV for a lost device, -EIO for a bad device
	 * or a dead link, -EPROTO for the library, -EINVAL for set-up.
	 */
	int (*error)(const struct coll *c);
};

/* Time for an engine to release its devices; after that the process must exit. */
#define COLL_ABORT_US (UINT64_C(10) * 1000 * 1000)

/* Implementations embed this first. */
struct coll {
	const struct coll_ops *ops;
	unsigned n;		/* in all processes, 2 to COLL_RANKS_MAX */
	unsigned first, n_here; /* those in this process */
	uint64_t bytes;		/* buffer size per rank: the largest operation */
	unsigned times;		/* coll_repeat() */
	unsigned n_moves;	/* coll_only(); 0: all blocks */
	struct coll_move moves[COLL_RANKS_MAX];
	struct coll_result result;
};

/* Operations per start(): 1 (the default) to COLL_REPEAT_MAX. Times are per operation. */
void coll_repeat(struct coll *c, unsigned times);

/*
 * Restrict further all-to-alls to these blocks; n = 0 moves all again. No rank may be the sender of
 * two blocks, nor the receiver of two. `moves` is copied.
 */
void coll_only(struct coll *c, const struct coll_move *moves, unsigned n);

/*
 * Called between turns, at least every 10 ms. Returns true to give up the operation, with the
 * reason and the rank at fault (or COLL_NOBODY) for the result.
 */
struct coll_watch {
	bool (*look)(void *context, int *ret_suspect, char ret_why[static COLL_WHY_SIZE]);
	void *context;
};

/*
 * Run one operation to its end, or to the deadline (monotonic microseconds of now_ns()). `watch`
 * may be NULL. Returns 0 with the outcome in c->result; the operation is aborted unless it is done.
 * A negative errno means that it could not be started.
 */
int coll_run(struct coll *c, const struct coll_op *op, uint64_t deadline_us,
	     const struct coll_watch *watch, struct err *err);
