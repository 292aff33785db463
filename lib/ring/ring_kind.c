/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ring/ring_kind.h"

#include <errno.h>
#include <inttypes.h>

#include "lib/base/err.h"
#include "lib/ring/ring_func.h"

enum { RANKS_MAX = 16384 };

const char *const ring_work_names[RING_WORKS] = {
	"",
	"forward-send",
	"forward-recv",
	"backward-send",
	"backward-recv",
	"params-all-gather",
	"grads-reduce-scatter",
	"embedding-grads-all-reduce",
	"optimizer-clip-main-grad",
	"forward-compute",
	"backward-compute",
	"optimizer",
};

int ring_kind_check_shape(const struct ring_shape *s, struct err *err)
{
	const bool sizes = s->dp >= 1 && s->pp >= 1 && s->tp >= 1 && s->dp <= RANKS_MAX &&
			   s->pp <= RANKS_MAX && s->tp <= RANKS_MAX;
	const uint64_t world = (uint64_t)s->dp * s->pp * s->tp;

	if (!sizes || world > RANKS_MAX)
		return err_set(err, EINVAL, "dp%u-pp%u-tp%u is not a shape of 1 to %d ranks", s->dp,
			       s->pp, s->tp, RANKS_MAX);
	if (s->rank < 0 || (uint64_t)s->rank >= world)
		return err_set(err, EINVAL, "rank %" PRId64 " is not in dp%u-pp%u-tp%u", s->rank,
			       s->dp, s->pp, s->tp);
	return 0;
}

/* Operations of a ring, counted. */
struct tally {
	size_t p2p, large,
		small; /* sends and receives; collectives larger than a flag, and up to that */
};

static struct tally tally(const struct ring_view *ring)
{
	struct tally t = { 0, 0, 0 };
	size_t i;

	for (i = 0; i < ring->n; i++) {
		if (ring_func_is_p2p(ring->ops[i].func))
			t.p2p++;
		else if (ring->ops[i].bytes > RING_KIND_SMALL_BYTES)
			t.large++;
		else
			t.small++;
	}
	return t;
}

static bool is_at(const struct ring_comm *comm, unsigned size, unsigned place)
{
	return comm->n_ranks == (int32_t)size && comm->rank == (int32_t)place;
}

static bool is_whole(const struct ring_comm *comm, const struct ring_shape *s)
{
	return is_at(comm, s->dp * s->pp * s->tp, (unsigned)s->rank);
}

static bool is_model(const struct ring_comm *comm, const struct ring_shape *s)
{
	return is_at(comm, s->pp * s->tp, ring_shape_stage(s) * s->tp + ring_shape_tensor(s));
}

static bool is_ends(const struct ring_comm *comm, const struct ring_shape *s)
{
	const unsigned stage = ring_shape_stage(s);

	return s->pp > 2 && (stage == 0 || stage + 1 == s->pp) && is_at(comm, 2, stage > 0);
}

/* How kinds of one size differ: a worker's has operations in each layer, the ends one per step. */
static const struct {
	enum ring_kind kind;
	const char *name;
} by_operations[] = {
	{ RING_KIND_TENSOR, "a tensor-parallel group" },
	{ RING_KIND_DATA, "the replicas" },
	{ RING_KIND_EMBEDDING, "the first and last stage" },
};

/* True if a communicator with large collectives can be of this kind, by its size and the place. */
static bool may_be(enum ring_kind kind, const struct ring_comm *comm, const struct ring_shape *s)
{
	switch (kind) {
	case RING_KIND_TENSOR:
		return s->tp > 1 && is_at(comm, s->tp, ring_shape_tensor(s));
	case RING_KIND_DATA:
		return s->dp > 1 && is_at(comm, s->dp, ring_shape_replica(s));
	case RING_KIND_EMBEDDING:
		return is_ends(comm, s);
	default:
		return false;
	}
}

/* How many kinds it can be; `ret` is the first, else what needs no such test. */
static size_t count_kinds(const struct ring_view *ring, const struct ring_shape *s,
			  enum ring_kind *ret)
{
	const struct ring_comm *comm = ring->comm;
	const struct tally t = tally(ring);
	size_t i, n = 0;

	*ret = is_whole(comm, s) || is_model(comm, s) ? RING_KIND_MODEL : RING_KIND_NONE;
	if (t.p2p > 0 && s->pp > 1 &&
	    (is_at(comm, s->pp, ring_shape_stage(s)) || comm->n_ranks == 2 || is_whole(comm, s))) {
		*ret = RING_KIND_PIPELINE;
		return 1;
	}
	for (i = 0; t.large > 0 && i < ARRAY_SIZE(by_operations); i++) {
		if (!may_be(by_operations[i].kind, comm, s))
			continue;
		if (n++ == 0)
			*ret = by_operations[i].kind;
	}
	return n;
}

/* The kind of ring `at`, one of several that can be the same kinds, by order of their counts. */
static int tell_apart(const struct ring_view *rings, size_t n, size_t at,
		      const struct ring_shape *s, enum ring_kind *ret, struct err *err)
{
	const struct ring_comm *comm = rings[at].comm;
	const char *names[2] = { NULL, NULL };
	size_t i, kinds = 0, alike = 0, more = 0, equal = 0;

	for (i = 0; i < n; i++) {
		const struct ring_comm *other = rings[i].comm;

		if (other->n_ranks != comm->n_ranks || other->rank != comm->rank ||
		    tally(&rings[i]).large == 0 || tally(&rings[i]).p2p > 0)
			continue;
		alike++;
		more += rings[i].n > rings[at].n;
		equal += rings[i].n == rings[at].n;
	}
	for (i = 0; i < ARRAY_SIZE(by_operations); i++) {
		if (!may_be(by_operations[i].kind, comm, s))
			continue;
		if (kinds == more)
			*ret = by_operations[i].kind;
		names[MIN(kinds, 1u)] = by_operations[i].name;
		kinds++;
	}
	if (alike == kinds && equal == 1)
		return 0;
	return err_set(
		err, ENODATA,
		"%zu communicators of %d ranks, in which it is number %d, may be those of %s or of "
		"%s: nothing tells them apart",
		alike, comm->n_ranks, comm->rank, names[0], names[1]);
}

static size_t count(const enum ring_kind *kinds, size_t n, enum ring_kind kind)
{
	size_t i, found = 0;

	for (i = 0; i < n; i++)
		found += kinds[i] == kind;
	return found;
}

int ring_kind_find(const struct ring_view *rings, size_t n, const struct ring_shape *s,
		   enum ring_kind *kinds, struct err *err)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < n; i++) {
		if (count_kinds(&rings[i], s, &kinds[i]) > 1)
			r = tell_apart(rings, n, i, s, &kinds[i], err);
	}
	if (r < 0)
		return r;
	if (s->dp > 1 && count(kinds, n, RING_KIND_DATA) == 0)
		return err_set(
			err, ENODATA,
			"none of %zu communicators connects the %u replicas, in which this process "
			"would be number %u",
			n, s->dp, ring_shape_replica(s));
	if (s->pp > 1 && count(kinds, n, RING_KIND_PIPELINE) == 0)
		return err_set(err, ENODATA, "none of %zu communicators connects the %u stages", n,
			       s->pp);
	return 0;
}

/* The stage of the other end; -1: none. */
static int64_t peer_stage(const struct ring_comm *comm, const struct ring_op *op,
			  const struct ring_shape *s)
{
	if (op->peer < 0 || op->peer >= comm->n_ranks || op->peer == comm->rank)
		return -1;
	if (is_at(comm, s->pp, ring_shape_stage(s)))
		return op->peer;
	/* Of two neighbours the lower stage is first. */
	if (comm->n_ranks == 2)
		return (int64_t)ring_shape_stage(s) + (comm->rank == 0 ? 1 : -1);
	return op->peer / (int64_t)(s->tp * s->dp);
}

static int transfer(const struct ring_comm *comm, const struct ring_op *op,
		    const struct ring_shape *s, struct err *err)
{
	const int64_t stage = ring_shape_stage(s), peer = peer_stage(comm, op, s);

	if (peer == stage + 1 && peer < (int64_t)s->pp)
		return op->func == RING_SEND ? RING_WORK_FORWARD_SEND : RING_WORK_BACKWARD_RECV;
	if (peer >= 0 && peer == stage - 1)
		return op->func == RING_SEND ? RING_WORK_BACKWARD_SEND : RING_WORK_FORWARD_RECV;
	return err_set(err, ENODATA,
		       "stage %" PRId64 " exchanges data with stage %" PRId64
		       ", which is not its neighbour: stages with several model chunks cannot be "
		       "recognized from rings",
		       stage, peer);
}

static enum ring_work collective(enum ring_kind kind, const struct ring_op *op)
{
	const bool small = op->bytes <= RING_KIND_SMALL_BYTES;

	if (op->func == RING_ALL_REDUCE && small)
		return RING_WORK_CLIP;
	if (small)
		return RING_WORK_NONE;
	if (kind == RING_KIND_DATA) {
		if (op->func == RING_ALL_GATHER)
			return RING_WORK_PARAMS;
		return op->func == RING_ALL_REDUCE || op->func == RING_REDUCE_SCATTER ||
				       op->func == RING_REDUCE
			       ? RING_WORK_GRADS
			       : RING_WORK_NONE;
	}
	if (op->func == RING_ALL_REDUCE &&
	    (kind == RING_KIND_EMBEDDING || kind == RING_KIND_PIPELINE))
		return RING_WORK_EMBEDDING;
	return RING_WORK_NONE;
}

int ring_kind_work(enum ring_kind kind, const struct ring_comm *comm, const struct ring_op *op,
		   const struct ring_shape *shape, struct err *err)
{
	if (kind == RING_KIND_NONE || kind == RING_KIND_TENSOR)
		return RING_WORK_NONE;
	if (ring_func_is_p2p(op->func))
		return kind == RING_KIND_PIPELINE ? transfer(comm, op, shape, err) : RING_WORK_NONE;
	return (int)collective(kind, op);
}
