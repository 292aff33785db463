/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The communicators of the NCCL engine: made, watched and ended with a deadline, and one operation
 * put on all of them. The engine is nccl.c; who is behind when one does not end is nccl_hang.h.
 */
#pragma once

#include <errno.h>

#include "probes/coll/nccl.h"

struct nccl_rank {
	struct ncclComm *comm;
	unsigned device; /* of the engine */
	struct accel_stream *stream;
	struct accel_event *from, *to;		    /* around the operation */
	struct accel_event *steps[COLL_REPEAT_MAX]; /* after each repetition */
	struct accel_region out, in;		    /* what it sends, what it receives */
	char subject[64];			    /* "gpu:GPU-..." */
	char pci[16];				    /* "0000:1b:00.0" */
	bool in_it;				    /* it has a part in the operation */
	double seconds;				    /* of one of them, by its clock; NAN */
};

struct nccl_group {
	struct coll coll; /* first; `ranks` are those of this process */
	struct nccl call;
	const struct accel_ops *ops;
	struct accel *accel;
	struct nccl_rank ranks[COLL_RANKS_MAX];
	nccl_id id;    /* of the group, before its communicators are made */
	bool apart;    /* an all-reduce is not in place */
	bool borrowed; /* the buffers are another's */
	int error;     /* negative errno of an operation that failed, 0 */

	/* Of the operation under way. */
	struct coll_op op;
	uint64_t begun_ns;
	unsigned left;	  /* repetitions not put yet */
	unsigned stepped; /* repetitions with their event after them */
	bool launching;	  /* NCCL has not put the newest yet */
	bool marked;	  /* all are put, and the events after them */
	uint64_t held;	  /* ranks that did not let go when they were aborted */
};

static inline struct nccl_group *nccl_group_of(struct coll *c)
{
	return (struct nccl_group *)c;
}

/*
 * Communicators of all ranks of this process, ready by the deadline; -ECANCELED with the reason
 * when `watch`, which may be NULL, gives it up.
 */
int nccl_comms_open(struct nccl_group *g, uint64_t deadline_us, const struct coll_watch *watch,
		    struct err *err);

/* In good order when nothing failed, within COLL_ABORT_US; else by force. */
void nccl_comms_close(struct nccl_group *g);

/*
 * Abort all communicators at once, each in a thread of its own, and see whose GPU is
 * free then: g->held are those that are not in time. One
 * that does not come back keeps its thread, and the process ends by accel_leave_at_once().
 */
void nccl_comms_abort(struct nccl_group *g);

/*
 * 1 when no communicator has something in progress, 0 when one has, -EPROTO with
 * the words of the one that failed; `ret_rank` is then its rank, COLL_NOBODY when
 * only others are to blame.
 */
int nccl_comms_ready(struct nccl_group *g, int *ret_rank, struct err *err);

/* 0 for OK and IN_PROGRESS, else -EPROTO: "gpu:GPU-...: what: NCCL's words". */
int nccl_check(struct nccl_group *g, const struct nccl_rank *rank, unsigned result,
	       const char *what, struct err *err);

/* Put one repetition of g->op; NCCL may go on with that by itself. Errors of the
 * calls. */
int nccl_launch(struct nccl_group *g, struct err *err);

/* Has the event passed? 1, 0, negative errno. */
static inline int nccl_passed(struct nccl_group *g, struct accel_event *event, struct err *err)
{
	int r = g->ops->event_wait(event, 0, err);

	return r == -ETIMEDOUT ? 0 : r < 0 ? r : 1;
}

/* A pause until there may be something new, not past the deadline. */
void nccl_pause(struct nccl_group *g, uint64_t deadline_us, uint64_t pause_us);
