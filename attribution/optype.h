/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a training step, in alphabetical order: sorting by start breaks ties of time
 * and seq_id by name.
 */
#pragma once

#include "lib/base/macro.h"

enum optype {
	OP_BACKWARD_COMPUTE,
	OP_BACKWARD_RECV,
	OP_BACKWARD_SEND,
	OP_EMBEDDING_GRADS,
	OP_FORWARD_COMPUTE,
	OP_FORWARD_RECV,
	OP_FORWARD_SEND,
	OP_GC,
	OP_GRADS_REDUCE_SCATTER,
	OP_LAYERNORM_GRADS,
	OP_OPTIMIZER,
	OP_CLIP_MAIN_GRAD,
	OP_PARAMS_ALL_GATHER,
	OP_SEPARATE_GRADS,
	OPTYPE_N,
};

enum { OPTYPE_NAME_MAX = 32 }; /* bytes of the longest name, with some margin */

/* The name in traces, "forward-compute". */
const char *optype_name(enum optype type);

/*
 * The name in reports, which has one for both ends of a transfer: "forward-pp-comm" for
 * forward-send and forward-recv.
 */
const char *optype_reported(enum optype type);

/* The type named by the `length` bytes at `name`, or -1. */
int optype_find(const char *name, size_t length);

/* forward-compute or backward-compute. */
bool optype_is_compute(enum optype type);

/* The four point-to-point types of a pipeline. */
bool optype_is_p2p(enum optype type);

/* A transfer whose duration is mostly waiting for others. */
bool optype_is_communication(enum optype type);
