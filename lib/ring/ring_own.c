/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ring/ring_own.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/ring/ring_func.h"
#include "lib/ring/ring_line.h"

/* An operation among all of its rank. */
struct placed {
	const struct ring_op *op;
	const struct ring_comm *comm;
	uint64_t token;
	uint32_t ring;
	bool follows; /* the previous one of its ring is there */
};

/* A rank's usual time for a kind of gap. */
struct usual {
	uint64_t kind;
	uint32_t stage, rank;
	size_t n;
	double median, error;
};

struct owner {
	struct usual *list;
	size_t n, alloc;
	struct ring_stall *stalls;
	size_t n_stalls;
	double stall_s;
};

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Equal for ranks that do the same: has the group's size and the direction, not the rank. */
static uint64_t token_of(const struct ring_comm *comm, const struct ring_op *op)
{
	const bool p2p = ring_func_is_p2p(op->func);
	const uint64_t way = !p2p ? 0 : op->peer > comm->rank ? 2 : 1;

	return mix(mix(mix((uint64_t)(uint32_t)comm->n_ranks) ^ op->func ^ way << 8) ^ op->bytes);
}

static int by_program(const void *a, const void *b)
{
	const struct placed *left = a, *right = b;

	if (left->op->enqueued_ns != right->op->enqueued_ns)
		return left->op->enqueued_ns < right->op->enqueued_ns ? -1 : 1;
	if (left->ring != right->ring)
		return left->ring < right->ring ? -1 : 1;
	return (left->op->number > right->op->number) - (left->op->number < right->op->number);
}

static size_t list_ops(const struct ring_rank *rank, struct placed **ret)
{
	struct placed *list;
	size_t i, j, n = 0;

	for (i = 0; i < rank->n; i++)
		n += rank->rings[i].n;
	list = xcalloc(n + 1, sizeof(*list));
	for (n = 0, i = 0; i < rank->n; i++) {
		const struct ring_view *ring = &rank->rings[i];

		for (j = 0; j < ring->n; j++) {
			const struct ring_op *op = &ring->ops[j];

			list[n++] = (struct placed){ op, ring->comm, token_of(ring->comm, op),
						     (uint32_t)i,
						     j > 0 && op[-1].number + 1 == op->number };
		}
	}
	qsort(list, n, sizeof(*list), by_program);
	*ret = list;
	return n;
}

static struct ring_gap gap_before(const struct placed *next, uint64_t stop)
{
	const struct ring_op *op = next->op;

	return (struct ring_gap){
		.kind = mix(next[-1].token) ^ next->token,
		.seconds = op->gpu_start_ns > stop ? (double)(op->gpu_start_ns - stop) / 1e9 : 0,
		.comm_id = next->comm->comm_id,
		.seq = op->seq,
		.at_ns = op->gpu_start_ns,
		.func = op->func,
	};
}

/* Gaps between operations that both have timestamps, with none lost in between. */
static size_t list_gaps(const struct placed *ops, size_t n, struct ring_gap *gaps)
{
	uint64_t stop = 0;
	size_t i, found = 0;

	for (i = 0; i < n; i++) {
		const struct placed *next = &ops[i];

		if (!ring_clock_has(next->op))
			continue;
		if (i > 0 && next->follows && ring_clock_has(next[-1].op))
			gaps[found++] = gap_before(next, stop);
		stop = MAX(stop, next->op->gpu_stop_ns);
	}
	return found;
}

static int by_kind(const void *a, const void *b)
{
	const struct ring_gap *left = a, *right = b;

	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	return (left->seconds > right->seconds) - (left->seconds < right->seconds);
}

static void add_stall(struct owner *o, uint32_t rank, const struct ring_gap *gap, double usual)
{
	const struct ring_stall stall = { .rank = rank,
					  .comm_id = gap->comm_id,
					  .seq = gap->seq,
					  .func = gap->func,
					  .seconds = gap->seconds - usual,
					  .at_ns = gap->at_ns };
	size_t at = o->n_stalls;

	while (at > 0 && o->stalls[at - 1].seconds < stall.seconds)
		at--;
	if (at == RING_OWN_STALLS_MAX)
		return;
	o->n_stalls = MIN(o->n_stalls + 1, (size_t)RING_OWN_STALLS_MAX);
	memmove(&o->stalls[at + 1], &o->stalls[at], (o->n_stalls - at - 1) * sizeof(o->stalls[0]));
	o->stalls[at] = stall;
}

static void add_usual(struct owner *o, uint32_t rank, uint32_t stage, const struct ring_gap *gaps,
		      size_t n)
{
	const double median = gaps[(n - 1) / 2].seconds;
	const double iqr = gaps[(n - 1) * 3 / 4].seconds - gaps[(n - 1) / 4].seconds;
	size_t i;

	for (i = n; i-- > 0 && gaps[i].seconds - median >= o->stall_s;)
		add_stall(o, rank, &gaps[i], median);
	if (o->n == o->alloc) {
		o->alloc = o->alloc ? 2 * o->alloc : 256;
		o->list = xrealloc(o->list, o->alloc, sizeof(*o->list));
	}
	o->list[o->n++] = (struct usual){ gaps->kind, stage,  rank,
					  n,	      median, ring_line_median_error(iqr, n) };
}

static void see_gaps(struct owner *o, struct ring_gap *gaps, size_t n, uint32_t at, uint32_t stage)
{
	size_t i, j;

	qsort(gaps, n, sizeof(*gaps), by_kind);
	for (i = 0; i < n; i = j) {
		for (j = i; j < n && gaps[j].kind == gaps[i].kind; j++)
			;
		if (j - i >= RING_OWN_GAPS_MIN)
			add_usual(o, at, stage, gaps + i, j - i);
	}
}

static void see_rank(struct owner *o, const struct ring_rank *rank, uint32_t at, uint32_t stage)
{
	CLEANUP(freep) struct placed *ops = NULL;
	CLEANUP(freep) struct ring_gap *gaps = NULL;
	size_t n = list_ops(rank, &ops);

	gaps = xcalloc(n + 1, sizeof(*gaps));
	n = list_gaps(ops, n, gaps);
	see_gaps(o, gaps, n, at, stage);
}

static int by_stage(const void *a, const void *b)
{
	const struct usual *left = a, *right = b;

	if (left->stage != right->stage)
		return left->stage < right->stage ? -1 : 1;
	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	return (left->rank > right->rank) - (left->rank < right->rank);
}

/* Input of the sums. */
struct sums {
	double *seconds, *variance; /* [rank] */
	double *values;		    /* room for a median */
	const uint32_t *stage;
	size_t n_ranks;
};

/* Adds a kind of gap that at least half of a stage has, as often as they usually have it. */
static void add_kind(const struct usual *list, size_t n, struct sums *s)
{
	double times, median;
	size_t i, rank;

	for (i = 0; i < n; i++)
		s->values[i] = (double)list[i].n;
	times = ring_line_median(s->values, n);
	for (i = 0; i < n; i++)
		s->values[i] = list[i].median;
	median = ring_line_median(s->values, n);
	for (i = 0, rank = 0; rank < s->n_ranks; rank++) {
		const bool has = i < n && list[i].rank == rank;

		if (s->stage[rank] != list->stage)
			continue;
		s->seconds[rank] += times * (has ? list[i].median : median);
		s->variance[rank] += has ? times * times * list[i].error * list[i].error : 0;
		i += has;
	}
}

/* Median of a stage; NAN: nobody to compare with. */
static double usual_of(const struct ring_own *own, const struct sums *s, uint32_t stage)
{
	double median;
	size_t i, n = 0;

	for (i = 0; i < s->n_ranks; i++) {
		if (s->stage[i] == stage && !isnan(own[i].seconds))
			s->values[n++] = own[i].seconds;
	}
	median = ring_line_median(s->values, n);
	return n > 1 && median > 0 ? median : (double)NAN;
}

static void compare(struct ring_own *own, const struct sums *s)
{
	CLEANUP(freep) double *usual = xcalloc(s->n_ranks + 1, sizeof(*usual)); /* [stage] */
	CLEANUP(freep) bool *known = xcalloc(s->n_ranks + 1, sizeof(*known));
	size_t i;

	for (i = 0; i < s->n_ranks; i++) {
		const uint32_t stage = s->stage[i];

		if (!known[stage])
			usual[stage] = usual_of(own, s, stage);
		known[stage] = true;
		own[i].excess = own[i].seconds / usual[stage] - 1;
	}
}

static void sum_up(struct owner *o, const uint32_t *stage, struct ring_own *own, size_t n_ranks)
{
	CLEANUP(freep) double *room = xcalloc(3 * n_ranks + 1, sizeof(*room));
	CLEANUP(freep) bool *seen = xcalloc(n_ranks + 1, sizeof(*seen));
	CLEANUP(freep) size_t *peers = xcalloc(n_ranks + 1, sizeof(*peers));
	struct sums s = { room, room + n_ranks, room + 2 * n_ranks, stage, n_ranks };
	size_t i, j;

	for (i = 0; i < o->n; i++)
		seen[o->list[i].rank] = true;
	for (i = 0; i < n_ranks; i++)
		peers[stage[i]] += seen[i];
	qsort(o->list, o->n, sizeof(*o->list), by_stage);
	for (i = 0; i < o->n; i = j) {
		for (j = i; j < o->n && o->list[j].stage == o->list[i].stage &&
			    o->list[j].kind == o->list[i].kind;
		     j++)
			;
		if (2 * (j - i) >= peers[o->list[i].stage])
			add_kind(o->list + i, j - i, &s);
	}
	for (i = 0; i < n_ranks; i++) {
		own[i].seconds = seen[i] ? s.seconds[i] : (double)NAN;
		own[i].error = sqrt(s.variance[i]);
	}
	compare(own, &s);
}

size_t ring_own_find(const struct ring_rank *ranks, size_t n_ranks, const uint32_t *stage,
		     double stall_s, struct ring_own *own,
		     struct ring_stall stalls[static RING_OWN_STALLS_MAX])
{
	struct owner o = { .stalls = stalls, .stall_s = stall_s };
	size_t i;

	for (i = 0; i < n_ranks; i++)
		see_rank(&o, &ranks[i], (uint32_t)i, stage[i]);
	sum_up(&o, stage, own, n_ranks);
	free(o.list);
	return o.n_stalls;
}

size_t ring_own_of_gaps(const struct ring_gaps *gaps, size_t n_ranks, const uint32_t *stage,
			double stall_s, struct ring_own *own,
			struct ring_stall stalls[static RING_OWN_STALLS_MAX])
{
	struct owner o = { .stalls = stalls, .stall_s = stall_s };
	size_t i;

	for (i = 0; i < n_ranks; i++)
		see_gaps(&o, gaps[i].list, gaps[i].n, (uint32_t)i, stage[i]);
	sum_up(&o, stage, own, n_ranks);
	free(o.list);
	return o.n_stalls;
}
