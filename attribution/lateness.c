/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/lateness.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* Timestamps start here, because 0 means none. */
#define BASE 1
#define NS 1e9

enum rings { OF_REPLICAS, OF_PIPELINE, RINGS };
enum { COMM_OF_REPLICAS = 1, COMM_OF_PIPELINE = 1 + TRACE_PP_MAX };

/* Input and output of the conversion. */
struct maker {
	const struct trace *trace;
	struct ring_rank *ranks; /* [d + dp * stage] */
	struct ring_view *views; /* [rank * RINGS] */
	struct ring_comm *comms;
	struct ring_op *ops;
	struct ring_gaps *gaps; /* [rank] */
	struct ring_gap *all_gaps;
	struct ring_line *lines; /* clock lines: all exact */
	bool *known;
	size_t n_ranks;
	size_t *first; /* [stage], plus one: index of its first key */
};

static void maker_release(struct maker *m)
{
	free(m->ranks);
	free(m->views);
	free(m->comms);
	free(m->ops);
	free(m->gaps);
	free(m->all_gaps);
	free(m->lines);
	free(m->known);
	free(m->first);
}

/* --- selecting operations --- */

static bool is_of_replicas(const struct trace *trace, const struct trace_key *key)
{
	return trace->job.dp > 1 &&
	       (key->type == OP_PARAMS_ALL_GATHER || key->type == OP_GRADS_REDUCE_SCATTER);
}

static bool is_forth(const struct trace_key *key)
{
	return key->type == OP_FORWARD_SEND || key->type == OP_BACKWARD_RECV;
}

/* To or from the next or the previous stage, which may not exist. */
static int64_t peer_of(const struct trace_key *key)
{
	return (int64_t)key->stage + (is_forth(key) ? 1 : -1);
}

static bool is_transfer(const struct trace *trace, const struct trace_key *key)
{
	return optype_is_p2p((enum optype)key->type) && peer_of(key) >= 0 &&
	       peer_of(key) < (int64_t)trace->job.pp;
}

static bool is_own(const struct trace_key *key)
{
	return optype_is_compute((enum optype)key->type) || key->type == OP_OPTIMIZER;
}

static double start_of(const struct trace *trace, size_t key, size_t lane)
{
	return trace->began[lane / trace->job.dp] - trace->began[0] +
	       trace->start[key * trace->n_lanes + lane];
}

static uint64_t stamp(double seconds)
{
	return BASE + (uint64_t)llround(MAX(seconds, 0) * NS);
}

/* --- rings --- */

static void open_ring(struct maker *m, size_t rank, enum rings of, uint64_t comm_id, size_t size,
		      size_t place)
{
	const size_t at = rank * RINGS + (size_t)of;

	m->comms[at] = (struct ring_comm){
		.comm_id = comm_id, .n_nodes = 1, .n_ranks = (int32_t)size, .rank = (int32_t)place
	};
	m->views[at].comm = &m->comms[at];
}

static void open_rings(struct maker *m)
{
	const size_t dp = m->trace->job.dp, pp = m->trace->job.pp;
	size_t rank;

	for (rank = 0; rank < m->n_ranks; rank++) {
		const size_t d = rank % dp, stage = rank / dp;

		open_ring(m, rank, OF_REPLICAS, COMM_OF_REPLICAS + stage, dp, d);
		open_ring(m, rank, OF_PIPELINE, COMM_OF_PIPELINE + d, pp, stage);
		m->ranks[rank] = (struct ring_rank){ &m->views[rank * RINGS], RINGS };
		m->known[rank] = true;
	}
}

/* A gradient crosses the same boundary as its activation: two directions per boundary. */
static uint64_t boundary_of(const struct trace_key *key)
{
	const uint64_t stage = MIN((uint64_t)key->stage, (uint64_t)peer_of(key));
	const bool backward = key->type == OP_BACKWARD_SEND || key->type == OP_BACKWARD_RECV;

	return 2 * stage + backward;
}

static struct ring_op op_of(const struct trace *trace, size_t key, size_t lane)
{
	const struct trace_key *k = &trace->keys[key];
	const double start = start_of(trace, key, lane);
	const bool p2p = optype_is_p2p((enum optype)k->type);
	const bool send = k->type == OP_FORWARD_SEND || k->type == OP_BACKWARD_SEND;

	return (struct ring_op){
		.seq = (uint64_t)(lane / trace->job.dp) << 32 | k->seq,
		/* Only equal sizes are compared: make sizes differ between stages. */
		.bytes = p2p ? boundary_of(k) : k->stage,
		.gpu_start_ns = stamp(start),
		.gpu_stop_ns = stamp(start + trace->duration[key * trace->n_lanes + lane]),
		.peer = p2p ? (int32_t)peer_of(k) : -1,
		.func = p2p				  ? (send ? RING_SEND : RING_RECV)
			: k->type == OP_PARAMS_ALL_GATHER ? RING_ALL_GATHER
							  : RING_REDUCE_SCATTER,
		.flags = RING_DONE,
	};
}

static void find_stages(struct maker *m)
{
	size_t key = 0, stage;

	for (stage = 0; stage <= m->trace->job.pp; stage++) {
		while (key < m->trace->n_keys && m->trace->keys[key].stage < stage)
			key++;
		m->first[stage] = key;
	}
}

/* Add the operations of a key for each rank of its stage to `ops`. Returns how many. */
static size_t fill(struct maker *m, size_t key, enum rings of, size_t d, struct ring_op *ops)
{
	const struct trace *trace = m->trace;
	const size_t dp = trace->job.dp;
	struct ring_view *view = &m->views[(d + dp * trace->keys[key].stage) * RINGS + (size_t)of];
	size_t step;

	if (!view->ops)
		view->ops = ops;
	for (step = 0; step < trace->n_steps; step++) {
		ops[step] = op_of(trace, key, step * dp + d);
		ops[step].number = view->n++;
	}
	return trace->n_steps;
}

/* The ring that a key belongs to; RINGS: none. */
static enum rings ring_of(const struct trace *trace, const struct trace_key *key)
{
	return is_of_replicas(trace, key) ? OF_REPLICAS
	       : is_transfer(trace, key)  ? OF_PIPELINE
					  : RINGS;
}

static void fill_rings(struct maker *m)
{
	const struct trace *trace = m->trace;
	struct ring_op *ops = m->ops;
	size_t rank, key;
	enum rings of;

	for (rank = 0; rank < m->n_ranks; rank++) {
		const size_t stage = rank / trace->job.dp;

		for (of = 0; of < RINGS; of++) {
			for (key = m->first[stage]; key < m->first[stage + 1]; key++) {
				if (ring_of(trace, &trace->keys[key]) == of)
					ops += fill(m, key, of, rank % trace->job.dp, ops);
			}
		}
	}
}

/* Gaps of one key on one rank. */
static struct ring_gap *put_gaps(const struct trace *trace, size_t key, size_t d,
				 struct ring_gap *gap)
{
	size_t step;

	for (step = 0; step < trace->n_steps; step++)
		*gap++ = (struct ring_gap){
			.kind = trace->keys[key].type,
			.seconds = trace->duration[key * trace->n_lanes + step * trace->job.dp + d],
			.seq = step,
		};
	return gap;
}

static void fill_gaps(struct maker *m)
{
	const struct trace *trace = m->trace;
	const size_t dp = trace->job.dp;
	struct ring_gap *gap = m->all_gaps;
	size_t rank, key;

	for (rank = 0; rank < m->n_ranks; rank++) {
		m->gaps[rank].list = gap;
		for (key = m->first[rank / dp]; key < m->first[rank / dp + 1]; key++) {
			if (is_own(&trace->keys[key]))
				gap = put_gaps(trace, key, rank % dp, gap);
		}
		m->gaps[rank].n = (size_t)(gap - m->gaps[rank].list);
	}
}

/* Number of ring operations, and of computes, of all ranks. */
static void count(const struct trace *trace, size_t *ret_ops, size_t *ret_gaps)
{
	size_t key, ops = 0, gaps = 0;

	for (key = 0; key < trace->n_keys; key++) {
		ops += ring_of(trace, &trace->keys[key]) != RINGS;
		gaps += is_own(&trace->keys[key]);
	}
	*ret_ops = ops * trace->n_lanes;
	*ret_gaps = gaps * trace->n_lanes;
}

static struct maker maker_of(const struct trace *trace, size_t n_ops, size_t n_gaps)
{
	const size_t n = (size_t)trace->job.dp * trace->job.pp;
	struct maker m = {
		.trace = trace,
		.n_ranks = n,
		.ranks = xcalloc(n, sizeof(*m.ranks)),
		.views = xcalloc(n * RINGS, sizeof(*m.views)),
		.comms = xcalloc(n * RINGS, sizeof(*m.comms)),
		.ops = xcalloc(n_ops + 1, sizeof(*m.ops)),
		.gaps = xcalloc(n, sizeof(*m.gaps)),
		.all_gaps = xcalloc(n_gaps + 1, sizeof(*m.all_gaps)),
		.lines = xcalloc(n, sizeof(*m.lines)),
		.known = xcalloc(n, sizeof(*m.known)),
		.first = xcalloc((size_t)trace->job.pp + 1, sizeof(*m.first)),
	};

	find_stages(&m);
	open_rings(&m);
	fill_rings(&m);
	fill_gaps(&m);
	return m;
}

/* Why there can be no result; NULL: there can. */
static const char *refuse(const struct trace *trace, bool by_ends, size_t n)
{
	if (trace->job.dp < 2)
		return "there is only one replica: no two ranks do the same work";
	if (trace->job.vpp > 1)
		return "the stages have model chunks";
	if (!by_ends)
		return "the ends of collectives do not put all ranks on one clock";
	if (n > LATENESS_OPS_MAX)
		return "the trace has too many operations";
	return NULL;
}

struct lateness lateness_find(const struct trace *trace, bool by_ends, double spread, double step_s)
{
	struct lateness lateness = { .steps = (double)trace->n_steps };
	size_t n_ops, n_gaps;

	count(trace, &n_ops, &n_gaps);
	lateness.why = refuse(trace, by_ends, n_ops + n_gaps);
	if (lateness.why)
		return lateness;
	CLEANUP(maker_release) struct maker m = maker_of(trace, n_ops, n_gaps);
	const struct ring_job job = { m.ranks, m.n_ranks, BASE, m.lines, m.known };
	const struct ring_lateness_options options = {
		.dp = trace->job.dp,
		.pp = trace->job.pp,
		.tp = 1,
		.spread = spread,
		.stall_s = MAX(LATENESS_STALL * step_s, LATENESS_STALL_LEAST),
		.gaps = m.gaps,
	};

	if (ring_late_find(&job, &options, &lateness.found, NULL) < 0)
		lateness.why = "the shape of the job does not match";
	return lateness;
}

void lateness_release(struct lateness *lateness)
{
	ring_late_release(&lateness->found);
	*lateness = (struct lateness){ .why = NULL };
}
