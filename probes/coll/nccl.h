/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group of coll.h whose ranks are GPUs, through NCCL loaded at run time: all GPUs of this host,
 * driven by one thread of this process (nccl_coll_new()), or one GPU on each of several hosts, one
 * of them here (nccl_host_new()).
 *
 * Communicators are non-blocking: each call may return "in progress", and turn() polls for
 * asynchronous errors. A rank has arrived when everything before the operation on its stream is
 * done; a rank that has not arrived is the one that the others wait for.
 *
 * If an operation does not end, the ranks at fault are, by the first of these that tells: those
 * that did not arrive; those on which NCCL did not start it; those that finished fewer operations
 * than the others; those whose GPU is still busy after all communicators were aborted. (A kernel
 * that merely waits for others looks at a flag that the abort sets.) If all GPUs are released, the
 * fault cannot be located, and the result says so. With several hosts, a process only knows whether
 * its own GPU arrived; locating the fault is up to whoever hears from all ranks.
 *
 * A rank's buffer takes twice its size in memory: for sending and for receiving.
 *
 * So far tested only with the fakes in tests/fakes, not on a GPU.
 */
#pragma once

#include "probes/accel/accel.h"
#include "probes/coll/coll.h"
#include "probes/coll/nccl_abi.h"
#include "probes/coll/nccl_load.h"

enum {
	NCCL_READY_US = 20000000, /* for communicators to become ready */
	NCCL_ABORT_US = 3000000,  /* for all communicators to be aborted */
	NCCL_DRAIN_US = 500000,	  /* then, for work on the GPUs to end */
	NCCL_POLL_US = 100,	  /* between looks at work in progress */
	NCCL_POLL_LAUNCH_US = 10, /* while more is being enqueued, as a GPU may wait for it */
};

struct nccl_setup {
	const struct nccl_library *library;
	struct accel *accel;
	unsigned n;	      /* its first `n` devices: 2 to COLL_RANKS_MAX */
	uint64_t bytes;	      /* buffer size per rank: a multiple of 4 n */
	uint64_t deadline_us; /* for the communicators to become ready */
};

/*
 * Make the group. Errors of the engine, naming the GPU; -EPROTO with NCCL's message; -ETIMEDOUT if
 * the communicators are not ready in time.
 */
int nccl_coll_new(const struct nccl_setup *setup, struct coll **ret, struct err *err);

/* This process's rank in a group over several hosts. */
struct nccl_host {
	const struct nccl_library *library;
	/* Send and receive buffers on one GPU; borrowed for the lifetime of the group. */
	const struct accel_region *out, *in;
	unsigned n, rank;
	uint64_t bytes;	   /* buffer size: a multiple of 4 n, the same at all ranks */
	const nccl_id *id; /* from nccl_id_new() at one rank, the same at all */
	uint64_t deadline_us;
	const struct coll_watch *watch; /* called while the ranks connect; may be NULL */
};

/*
 * Make the id that the ranks of a group find each other by. This process must be one of the ranks.
 */
int nccl_id_new(const struct nccl_library *library, nccl_id *ret, struct err *err);

/*
 * Make the group; all ranks must do so at the same time. An all-reduce in it leaves its input
 * unchanged (nccl_coll_apart()). Errors as for nccl_coll_new(), and -ECANCELED with the reason of
 * the watch.
 */
int nccl_host_new(const struct nccl_host *host, struct coll **ret, struct err *err);

/*
 * From now on an all-reduce leaves its input unchanged and get() reads a separate output, so that
 * the sums of repeated operations do not grow without bounds.
 */
void nccl_coll_apart(struct coll *c);
