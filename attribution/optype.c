/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/optype.h"

enum { COMPUTE = 1, P2P = 2, COMMUNICATION = 4 };

static const struct {
	const char *name, *reported;
	unsigned flags;
} types[OPTYPE_N] = {
	[OP_BACKWARD_COMPUTE] = { "backward-compute", "backward-compute", COMPUTE },
	[OP_BACKWARD_RECV] = { "backward-recv", "backward-pp-comm", P2P | COMMUNICATION },
	[OP_BACKWARD_SEND] = { "backward-send", "backward-pp-comm", P2P | COMMUNICATION },
	[OP_EMBEDDING_GRADS] = { "embedding-grads-all-reduce", "embedding-grads-all-reduce",
				 COMMUNICATION },
	[OP_FORWARD_COMPUTE] = { "forward-compute", "forward-compute", COMPUTE },
	[OP_FORWARD_RECV] = { "forward-recv", "forward-pp-comm", P2P | COMMUNICATION },
	[OP_FORWARD_SEND] = { "forward-send", "forward-pp-comm", P2P | COMMUNICATION },
	[OP_GC] = { "gc", "gc", 0 },
	[OP_GRADS_REDUCE_SCATTER] = { "grads-reduce-scatter", "grads-reduce-scatter",
				      COMMUNICATION },
	[OP_LAYERNORM_GRADS] = { "layernorm-grads-all-reduce", "layernorm-grads-all-reduce",
				 COMMUNICATION },
	[OP_OPTIMIZER] = { "optimizer", "optimizer", 0 },
	[OP_CLIP_MAIN_GRAD] = { "optimizer-clip-main-grad", "optimizer-clip-main-grad",
				COMMUNICATION },
	[OP_PARAMS_ALL_GATHER] = { "params-all-gather", "params-all-gather", COMMUNICATION },
	[OP_SEPARATE_GRADS] = { "separate-grads-all-reduce", "separate-grads-all-reduce",
				COMMUNICATION },
};

const char *optype_name(enum optype type)
{
	return types[type].name;
}

const char *optype_reported(enum optype type)
{
	return types[type].reported;
}

int optype_find(const char *name, size_t length)
{
	int i;

	for (i = 0; i < OPTYPE_N; i++) {
		if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0)
			return i;
	}
	return -1;
}

bool optype_is_compute(enum optype type)
{
	return types[type].flags & COMPUTE;
}

bool optype_is_p2p(enum optype type)
{
	return types[type].flags & P2P;
}

bool optype_is_communication(enum optype type)
{
	return types[type].flags & COMMUNICATION;
}
