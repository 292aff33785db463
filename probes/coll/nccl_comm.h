/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The communicators of the NCCL engine: created, watched and aborted with a deadline, and used to
 * launch an operation on all ranks. The engine is nccl.c; nccl_hang.h finds out who is behind in a
 * hang.
 */
#pragma once

#include <errno.h>

#include "probes/coll/nccl.h"

struct nccl_rank {
	struct ncclComm *comm;
	unsigned device; /* number in the engine */
	struct accel_stream *stream;
	struct accel_event *from, *to;		    /* around the operation */
	struct accel_event *steps[COLL_REPEAT_MAX]; /* one after each repetition */
	struct accel_region out, in;		    /* send and receive buffer */
	char subject[64];			    /* "gpu:GPU-..." */
	char pci[16];				    /* "0000:1b:00.0" */
	bool in_it;				    /* takes part in the operation */
	double seconds;				    /* per operation, by its own clock; NAN */
};

struct nccl_group {
	struct coll coll; /* first; its ranks of this process are `ranks` */
	struct nccl call;
	const struct accel_ops *ops;
	struct accel *accel;
	struct nccl_rank ranks[COLL_RANKS_MAX];
	nccl_id id;    /* id of the group, until its communicators are made */
	bool apart;    /* an all-reduce is not in place */
	bool borrowed; /* the buffers are borrowed */
	int error;     /* negative errno of a failed operation, or 0 */

	/* The current operation. */
	struct coll_op op;
	uint64_t begun_ns;
	unsigned left;	  /* repetitions not launched yet */
	unsigned stepped; /* repetitions followed by their event */
	bool launching;	  /* NCCL has not enqueued the latest yet */
	bool marked;	  /* everything is enqueued, with the events after it */
	uint64_t held;	  /* ranks whose communicators could not be aborted */
};

static inline struct nccl_group *nccl_group_of(struct coll *c)
{
	return (struct nccl_group *)c;
}

/*
 * Make communicators of all ranks of this process, ready by the deadline. -ECANCELED with the
 * reason if `watch`, which may be NULL, gives up.
 */
int nccl_comms_open(struct nccl_group *g, uint64_t deadline_us, const struct coll_watch *watch,
		    struct err *err);

/* Finalize within COLL_ABORT_US if nothing has failed; otherwise abort. */
void nccl_comms_close(struct nccl_group *g);

/*
 * Abort all communicators at once, each in a thread of its own. g->held are the ranks for which
 * that did not return in time, because their GPU is not released. The thread of such a rank stays
 * behind, and the process exits by accel_leave_at_once().
 */
void nccl_comms_abort(struct nccl_group *g);

/*
 * Returns 1 if no communicator has anything in progress, 0 if one has, and -EPROTO with NCCL's
 * message if one failed; `ret_rank` is then its rank, or COLL_NOBODY if only remote ranks are to
 * blame.
 */
int nccl_comms_ready(struct nccl_group *g, int *ret_rank, struct err *err);

/* 0 for OK and IN_PROGRESS, otherwise -EPROTO: "gpu:GPU-...: what: NCCL's message". */
int nccl_check(struct nccl_group *g, const struct nccl_rank *rank, unsigned result,
	       const char *what, struct err *err);

/* Launch one repetition of g->op; NCCL may enqueue it asynchronously. Errors of the calls. */
int nccl_launch(struct nccl_group *g, struct err *err);

/* Has the event passed? Returns 1, 0 or a negative errno. */
static inline int nccl_passed(struct nccl_group *g, struct accel_event *event, struct err *err)
{
	int r = g->ops->event_wait(event, 0, err);

	return r == -ETIMEDOUT ? 0 : r < 0 ? r : 1;
}

/* Pause until there may be news, but not past the deadline. */
void nccl_pause(struct nccl_group *g, uint64_t deadline_us, uint64_t pause_us);
