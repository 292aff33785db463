/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The group of coll.h whose ranks are GPUs, through NCCL loaded at run time: all GPUs of
 * this host, all of this process and driven by one thread (nccl_coll_new()), or one GPU of each of
 * several hosts, one of them here (nccl_host_new()).
 *
 * Communicators do not block: each call may answer "in progress", and turn()
 * asks for asynchronous errors. A rank has arrived when all that its stream
 * had to do before is done: one that has not is the one that the others wait for.
 *
 * An operation that does not end: who is behind is told, in this order, by who did
 * not arrive, by whom NCCL did not begin on, by who ended fewer operations than the
 * others, and by whose GPU is still not free when all were aborted: a kernel that
 * merely waits for the others looks at the flag that an abort sets. When all let go it
 * cannot be told, and that is what the result says. Of several hosts a process sees its own
 * rank alone: whether its GPU came to it. Who is behind is for whoever hears all ranks.
 *
 * A buffer is twice the memory of a rank: what it sends and what it receives.
 *
 * Run against the fakes of tests/fakes so far, not on a GPU.
 */
#pragma once

#include "probes/accel/accel.h"
#include "probes/coll/coll.h"
#include "probes/coll/nccl_abi.h"
#include "probes/coll/nccl_load.h"

enum {
	NCCL_READY_US = 20000000, /* longest that communicators may take to be ready */
	NCCL_ABORT_US = 3000000,  /* for all communicators to be aborted */
	NCCL_DRAIN_US = 500000,	  /* after that, for what is left on the GPUs to end */
	NCCL_POLL_US = 100,	  /* between two looks at work under way */
	NCCL_POLL_LAUNCH_US = 10, /* while the next operation is put, that a GPU may wait for */
};

struct nccl_setup {
	const struct nccl_library *library;
	struct accel *accel;
	unsigned n;	      /* its first devices: 2 to COLL_RANKS_MAX */
	uint64_t bytes;	      /* of the buffer of each rank: a multiple of 4 n */
	uint64_t deadline_us; /* for the communicators to be ready */
};

/*
 * Make the group. Errors of the engine, with the GPU in the sentence; -EPROTO
 * in NCCL's words; -ETIMEDOUT when the communicators are not ready in time.
 */
int nccl_coll_new(const struct nccl_setup *setup, struct coll **ret, struct err *err);

/* The rank of this process in a group of several hosts. */
struct nccl_host {
	const struct nccl_library *library;
	/* What it sends and what it receives, of one GPU; borrowed as long as the group. */
	const struct accel_region *out, *in;
	unsigned n, rank;
	uint64_t bytes;	   /* of the buffer: a multiple of 4 n; the same at all ranks */
	const nccl_id *id; /* of nccl_id_new() at one rank, the same at all */
	uint64_t deadline_us;
	const struct coll_watch *watch; /* while the ranks find each other; or NULL */
};

/* By which the ranks of one group find each other. The process that makes it must be one of them. */
int nccl_id_new(const struct nccl_library *library, nccl_id *ret, struct err *err);

/*
 * Make the group; all ranks do, at the same time. An all-reduce in it leaves what it takes as it is
 * (nccl_coll_apart()). Errors as nccl_coll_new(), and -ECANCELED with the reason of the watch.
 */
int nccl_host_new(const struct nccl_host *host, struct coll **ret, struct err *err);

/*
 * From now on an all-reduce leaves what it takes as it is, and get() is of what
 * came out: one that is repeated does not grow its sums beyond all bounds.
 */
void nccl_coll_apart(struct coll *c);
