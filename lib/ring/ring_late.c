/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ring/ring_late.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/silicon.h"

/*
 * Good silicon as a gamma distribution of shape 2.4 (lib/judge/silicon.h): one in 200 is slower
 * than the mean by 3.9 standard deviations, and than the median, which ranks are compared with, by
 * 4.1. Beyond that, the number drops by a factor of e per TAIL_FALL of them.
 */
#define TAIL_AT 4.1
#define TAIL_FALL 0.77
#define TAIL_PART (1.0 / 200)
/* Own times of two ranks differ if they are this many standard deviations apart. */
#define DIFFER 3
/* Scatter of the ends of one collective on good clocks, in seconds. */
#define ENDS_APART 1e-3
/* Longer than any window, in seconds: ranks before all waiting between stages. */
#define ONE_STAGE 1e9

/* A collective as seen by one rank, on the common clock: seconds. */
struct part {
	uint64_t comm_id, key, bytes;
	int32_t size;
	uint32_t rank;
	double start, stop;
};

static int by_collective(const void *a, const void *b)
{
	const struct part *left = a, *right = b;

	if (left->comm_id != right->comm_id)
		return left->comm_id < right->comm_id ? -1 : 1;
	if (left->key != right->key)
		return left->key < right->key ? -1 : 1;
	return (left->rank > right->rank) - (left->rank < right->rank);
}

static size_t list_parts(const struct ring_job *job, struct part **ret)
{
	size_t rank, i, j, n = 0;
	struct part *list;

	for (rank = 0; rank < job->n_ranks; rank++) {
		for (i = 0; i < job->ranks[rank].n; i++)
			n += job->ranks[rank].rings[i].n;
	}
	list = xcalloc(n + 1, sizeof(*list));
	for (n = 0, rank = 0; rank < job->n_ranks; rank++) {
		for (i = 0; job->known[rank] && i < job->ranks[rank].n; i++) {
			const struct ring_view *ring = &job->ranks[rank].rings[i];

			for (j = 0; j < ring->n; j++) {
				const struct ring_op *op = &ring->ops[j];

				if (!ring_clock_synchronises(op) || !ring_clock_has(op))
					continue;
				list[n++] = (struct part){
					.comm_id = ring->comm->comm_id,
					.key = (uint64_t)op->func << 56 | op->seq,
					.bytes = op->bytes,
					.size = ring->comm->n_ranks,
					.rank = (uint32_t)rank,
					.start = ring_links_ns(job, rank, op->gpu_start_ns) / 1e9,
					.stop = ring_links_ns(job, rank, op->gpu_stop_ns) / 1e9,
				};
			}
		}
	}
	qsort(list, n, sizeof(*list), by_collective);
	*ret = list;
	return n;
}

/* State of the walk over communicators. */
struct seer {
	struct ring_lateness *l;
	const uint32_t *stage;
	struct ring_late *now,
		*comm;	/* [rank]: of this function, and of all of this communicator */
	double *most;	/* [rank]: the waiting in the communicator that its numbers are from */
	double *starts; /* room for a median */
	struct ring_transfer *transfers;
	size_t n_transfers;
	size_t complete, incomplete; /* of this function */
	bool one_stage;		     /* all ranks of this communicator are in one stage */
	double waited;		     /* total in this communicator */
};

/* True if all left it together; a rank with another end has a timestamp of other work. */
static bool ends_together(struct seer *s, const struct part *parts, size_t n)
{
	double median;
	size_t i;

	for (i = 0; i < n; i++)
		s->starts[i] = parts[i].stop;
	median = ring_line_median(s->starts, n);
	for (i = 0; i < n; i++) {
		if (fabs(parts[i].stop - median) > ENDS_APART)
			return false;
	}
	return true;
}

/* One collective, on all of its ranks. */
static void see_collective(struct seer *s, const struct part *parts, size_t n)
{
	double last = parts[0].start, end = parts[0].stop, median;
	size_t i, latest = 0;

	for (i = 0; i < n; i++) {
		s->starts[i] = parts[i].start;
		latest = parts[i].start > last ? i : latest;
		last = MAX(last, parts[i].start);
		end = MAX(end, parts[i].stop);
	}
	median = ring_line_median(s->starts, n);
	for (i = 0; i < n; i++) {
		struct ring_late *late = &s->now[parts[i].rank];

		late->collectives++;
		late->late_s += parts[i].start - median;
		late->wait_s += last - parts[i].start;
		s->one_stage &= s->stage[parts[i].rank] == s->stage[parts[0].rank];
	}
	s->now[parts[latest].rank].last++;
	s->transfers[s->n_transfers++] = (struct ring_transfer){
		.comm_id = parts->comm_id,
		.bytes = parts->bytes,
		.from = UINT32_MAX,
		.to = UINT32_MAX,
		.size = parts->size,
		.func = (uint8_t)(parts->key >> 56),
		.xfer_s = end - last,
	};
}

/* Ends one function of a communicator: incomplete collectives count like the others. */
static void take_function(struct seer *s)
{
	const double scale = s->complete ? 1 + (double)s->incomplete / (double)s->complete : 0;
	size_t i;

	for (i = 0; i < s->l->n_ranks; i++) {
		s->comm[i].collectives += s->now[i].collectives;
		s->comm[i].last += s->now[i].last;
		s->comm[i].late_s += s->now[i].late_s * scale;
		s->comm[i].wait_s += s->now[i].wait_s * scale;
		s->waited += s->now[i].wait_s * scale;
		s->now[i] = (struct ring_late){ .collectives = 0 };
	}
	s->l->collectives += s->complete;
	s->l->incomplete += s->incomplete;
	s->complete = s->incomplete = 0;
}

static void take_comm(struct seer *s)
{
	/* Between stages somebody always waits: the pipeline fills and drains. */
	const double rank_of = s->waited + (s->one_stage ? ONE_STAGE : 0);
	size_t i;

	for (i = 0; i < s->l->n_ranks; i++) {
		if (s->comm[i].collectives > 0 && rank_of >= s->most[i]) {
			s->l->ranks[i] = s->comm[i];
			s->most[i] = rank_of;
		}
		s->comm[i] = (struct ring_late){ .collectives = 0 };
	}
	s->one_stage = true;
	s->waited = 0;
}

static void see_all(struct seer *s, const struct part *parts, size_t n)
{
	size_t i, j;

	s->one_stage = true;
	for (i = 0; i < n; i = j) {
		bool comm_ends;

		for (j = i;
		     j < n && parts[j].comm_id == parts[i].comm_id && parts[j].key == parts[i].key;
		     j++)
			;
		/* If a rank is missing, it is unknown who was last. */
		if ((int64_t)(j - i) == parts[i].size && ends_together(s, parts + i, j - i)) {
			see_collective(s, parts + i, j - i);
			s->complete++;
		} else {
			s->incomplete++;
		}
		comm_ends = j == n || parts[j].comm_id != parts[i].comm_id;
		if (comm_ends || parts[j].key >> 56 != parts[i].key >> 56)
			take_function(s);
		if (comm_ends)
			take_comm(s);
	}
}

/* --- causes --- */

/* How much slower the slowest of n good ranks is, in all but one of RING_LATENESS_FALSE jobs. */
static double tail_of(double spread, size_t n)
{
	const double chance = 1 / (RING_LATENESS_FALSE * (double)n);
	const double beyond = MAX(log(TAIL_PART / chance) * TAIL_FALL, 0);

	return spread * (TAIL_AT + beyond);
}

/* Ranks of its stage, with which it is compared, including itself. */
static size_t peers_of(const struct ring_lateness *l, const uint32_t *stage, size_t rank)
{
	size_t i, n = 0;

	for (i = 0; i < l->n_ranks; i++)
		n += stage[i] == stage[rank] && !isnan(l->ranks[i].own.excess);
	return n;
}

static double excess(const struct ring_lateness *l, size_t rank)
{
	return isnan(l->ranks[rank].own.excess) ? -INFINITY : l->ranks[rank].own.excess;
}

/* Relative to what its peers take. */
static double error_of(const struct ring_own *own)
{
	return own->error / (own->seconds / (1 + own->excess));
}

static void blame(struct ring_lateness *l, const uint32_t *stage, double spread)
{
	size_t i, first = 0, second = SIZE_MAX, n = 0;
	double apart;

	for (i = 0; i < l->n_ranks; i++)
		n += isnan(l->ranks[i].own.excess) ? 0 : 1;
	l->slowest = l->stands_out = -1;
	l->tail = n ? tail_of(spread, n) : (double)NAN;
	for (i = 1; i < l->n_ranks; i++)
		first = excess(l, i) > excess(l, first) ? i : first;
	for (i = 0; i < l->n_ranks; i++) {
		if (i != first && (second == SIZE_MAX || excess(l, i) > excess(l, second)))
			second = i;
	}
	if (second == SIZE_MAX || isinf(excess(l, second)))
		return;
	apart = hypot(error_of(&l->ranks[first].own), error_of(&l->ranks[second].own));
	if (excess(l, first) - excess(l, second) > DIFFER * apart)
		l->slowest = (int64_t)first;
	/* If two stand out, only the slower is named; the numbers show the other. */
	if (peers_of(l, stage, first) >= RING_LATENESS_PEERS_MIN &&
	    excess(l, first) - DIFFER * error_of(&l->ranks[first].own) > l->tail)
		l->stands_out = (int64_t)first;
}

static void find_own(const struct ring_job *job, const struct ring_lateness_options *o,
		     const uint32_t *stage, struct ring_lateness *l)
{
	CLEANUP(freep) struct ring_own *own = xcalloc(l->n_ranks + 1, sizeof(*own));
	size_t i;

	l->n_stalls =
		o->gaps ? ring_own_of_gaps(o->gaps, l->n_ranks, stage, o->stall_s, own, l->stalls)
			: ring_own_find(job->ranks, l->n_ranks, stage, o->stall_s, own, l->stalls);
	for (i = 0; i < l->n_ranks; i++)
		l->ranks[i].own = own[i];
	blame(l, stage, o->spread > 0 ? o->spread : SILICON_SPREAD);
}

int ring_late_find(const struct ring_job *job, const struct ring_lateness_options *o,
		   struct ring_lateness *ret, struct err *err)
{
	const size_t n = job->n_ranks;
	CLEANUP(freep) struct part *parts = NULL;
	CLEANUP(freep) struct ring_late *late = xcalloc(2 * n + 1, sizeof(*late));
	CLEANUP(freep) double *room = xcalloc(2 * n + 1, sizeof(*room));
	CLEANUP(freep) uint32_t *stage = xcalloc(n + 1, sizeof(*stage));
	CLEANUP(freep) struct ring_transfer *transfers = NULL;
	struct ring_lateness l = { .n_ranks = n };
	struct seer s = { .l = &l,
			  .stage = stage,
			  .now = late,
			  .comm = late + n,
			  .most = room,
			  .starts = room + n };
	size_t i, n_parts;

	if (n == 0 || n != (uint64_t)o->dp * o->pp * o->tp)
		return err_set(err, EINVAL, "%zu ranks do not make dp%u-pp%u-tp%u", n, o->dp, o->pp,
			       o->tp);
	for (i = 0; i < n; i++)
		stage[i] = (uint32_t)(i / ((size_t)o->dp * o->tp));
	l.ranks = xcalloc(n, sizeof(*l.ranks));
	n_parts = list_parts(job, &parts);
	transfers = xcalloc(n_parts + 1, sizeof(*transfers));
	s.transfers = transfers;
	see_all(&s, parts, n_parts);
	find_own(job, o, stage, &l);
	l.n_links = ring_links_find(job, transfers, s.n_transfers, l.links);
	*ret = l;
	return 0;
}

void ring_late_release(struct ring_lateness *l)
{
	free(l->ranks);
	*l = (struct ring_lateness){ .n_ranks = 0 };
}
