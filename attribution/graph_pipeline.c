/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives between the stages: R3 and R5. */
#include <errno.h>

#include "attribution/graph_draft.h"
#include "attribution/trace_job.h"
#include "lib/base/err.h"

/* Seconds: the published tool's tolerance for equal times. */
#define SAME_TIME 5e-5

struct transfer {
	enum optype type, compute;
	bool is_recv;
	bool first_chunk; /* first: chunk without a peer; else it is the last one */
};

static const struct transfer transfers[] = {
	{ OP_FORWARD_RECV, OP_FORWARD_COMPUTE, true, true },
	{ OP_FORWARD_SEND, OP_FORWARD_COMPUTE, false, false },
	{ OP_BACKWARD_RECV, OP_BACKWARD_COMPUTE, true, false },
	{ OP_BACKWARD_SEND, OP_BACKWARD_COMPUTE, false, true },
};

/* Keep the transfers in `list` that can belong to a compute. Returns how many. */
static size_t keep(const struct draft *draft, const struct transfer *transfer,
		   struct draft_list list, struct draft_list computes, uint32_t *kept)
{
	double first_end, last_start;
	size_t i, n = 0;

	if (computes.n == 0)
		return 0;
	first_end = draft_end(draft, computes.keys[0]);
	last_start = draft_start(draft, computes.keys[computes.n - 1]);
	for (i = 0; i < list.n; i++) {
		uint32_t key = list.keys[i];
		bool belongs = transfer->is_recv ? draft_start(draft, key) <= last_start + SAME_TIME
						 : draft_end(draft, key) >= first_end - SAME_TIME;

		if (belongs)
			kept[n++] = key;
	}
	return n;
}

/* Does a stage exist for the other end of this compute's transfer? */
static bool has_peer(const struct draft *draft, const struct transfer *transfer, uint32_t compute)
{
	const struct trace_job *job = &draft->trace->job;
	const struct trace_key *key = &draft->trace->keys[compute];
	int gmc = MAX(key->mc, 0) * (int)job->pp + key->stage;
	int without = transfer->first_chunk ? 0 : (int)(job->pp * job->vpp) - 1;

	return gmc != without;
}

static int join(struct draft *draft, const struct transfer *transfer, size_t stage, struct err *err)
{
	struct draft_list list = draft_list(draft, stage, transfer->type);
	/* order by start is also order by seq_id, which counts starts */
	struct draft_list computes = draft_list(draft, stage, transfer->compute);
	uint32_t *real = draft->real + (list.keys - draft->by_start);
	uint32_t *kept = draft->scratch;
	size_t *n_real = &draft->n_real[stage * OPTYPE_N + transfer->type];
	size_t i, n = keep(draft, transfer, list, computes, kept), shift = 0;
	bool edge = stage == 0 || stage + 1 == draft->trace->job.pp;

	if (n != computes.n && !(edge && (n == 0 || n + 1 == computes.n)))
		return err_set(err, EINVAL, "stage %zu has %zu %s and %zu %s: they do not match",
			       stage, n, optype_name(transfer->type), computes.n,
			       optype_name(transfer->compute));
	if (transfer->is_recv && n + 1 == computes.n)
		shift = 1;
	for (i = 0; i < n; i++) {
		const uint32_t *compute = &computes.keys[i + shift];

		if (has_peer(draft, transfer, *compute))
			real[(*n_real)++] = kept[i];
		if (!transfer->is_recv) {
			draft_edge(draft, *compute, kept[i]);
			continue;
		}
		draft_edge(draft, kept[i], *compute);
		if (i + shift > 0)
			draft_edge(draft, compute[-1], kept[i]);
	}
	return 0;
}

/* R5: pair the j-th send of a stage with the j-th receive of its neighbour. */
static int pair(struct draft *draft, size_t stage, bool forward, struct err *err)
{
	size_t pp = draft->trace->job.pp, peer = (stage + (forward ? 1 : pp - 1)) % pp, j;
	enum optype send = forward ? OP_FORWARD_SEND : OP_BACKWARD_SEND;
	enum optype recv = forward ? OP_FORWARD_RECV : OP_BACKWARD_RECV;
	size_t from = stage * OPTYPE_N + send, to = peer * OPTYPE_N + recv;

	if (draft->n_real[from] != draft->n_real[to])
		return err_set(err, EINVAL,
			       "stage %zu has %zu %s, but stage %zu has %zu %s: a peer is missing",
			       stage, draft->n_real[from], optype_name(send), peer,
			       draft->n_real[to], optype_name(recv));
	for (j = 0; j < draft->n_real[from]; j++) {
		uint32_t ends[2] = { draft->real[draft->range[from] + j],
				     draft->real[draft->range[to] + j] };

		draft_group(draft, ends, 2, false);
	}
	return 0;
}

int draft_pipeline(struct draft *draft, struct err *err)
{
	size_t stage, i;
	int r;

	for (stage = 0; stage < draft->trace->job.pp; stage++) {
		for (i = 0; i < ARRAY_SIZE(transfers); i++) {
			r = join(draft, &transfers[i], stage, err);
			if (r < 0)
				return r;
		}
	}
	for (stage = 0; stage < draft->trace->job.pp; stage++) {
		r = pair(draft, stage, true, err);
		if (r == 0)
			r = pair(draft, stage, false, err);
		if (r < 0)
			return r;
	}
	return 0;
}
