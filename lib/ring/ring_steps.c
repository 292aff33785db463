/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ring/ring_steps.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/ring/ring_clock.h"
#include "lib/ring/ring_line.h"

/* A pair of operations that occurs this often per period occurs once a step. */
#define ONCE_LEAST 0.6
#define ONCE_MOST 1.25

/* If all operations look alike, a step has few of them. */
enum { ALIKE_MOST = 16 };

void ring_steps_release(struct ring_steps *steps)
{
	free(steps->ops);
	free(steps->steps);
	*steps = (struct ring_steps){ 0 };
}

/* --- one sequence --- */

static int by_program(const void *a, const void *b)
{
	const struct ring_step_op *left = a, *right = b;

	if (left->op->enqueued_ns != right->op->enqueued_ns)
		return left->op->enqueued_ns < right->op->enqueued_ns ? -1 : 1;
	if (left->ring != right->ring)
		return left->ring < right->ring ? -1 : 1;
	return (left->op->number > right->op->number) - (left->op->number < right->op->number);
}

static int gather(const struct ring_view *rings, size_t n, const struct ring_shape *shape,
		  struct ring_steps *s, struct err *err)
{
	enum ring_kind kinds[RING_STEPS_RINGS_MAX];
	size_t i, j, sum = 0;
	int r = n > RING_STEPS_RINGS_MAX
			? err_set(err, E2BIG, "%zu rings of one process, more than %d", n,
				  RING_STEPS_RINGS_MAX)
			: 0;

	for (i = 0; r == 0 && i < n; i++)
		sum += rings[i].n;
	if (r == 0 && sum > RING_STEPS_OPS_MAX)
		r = err_set(err, E2BIG, "%zu operations of one process, more than %d", sum,
			    RING_STEPS_OPS_MAX);
	if (r == 0)
		r = ring_kind_find(rings, n, shape, kinds, err);
	if (r < 0)
		return r;
	s->ops = xcalloc(sum + 1, sizeof(*s->ops));
	for (i = 0; i < n; i++) {
		for (j = 0; j < rings[i].n; j++) {
			const struct ring_op *op = &rings[i].ops[j];

			r = ring_kind_work(kinds[i], rings[i].comm, op, shape, err);
			if (r < 0)
				return r;
			if (r == RING_WORK_NONE)
				continue;
			s->ops[s->n_ops++] = (struct ring_step_op){ .op = op,
								    .ring = (uint32_t)i,
								    .work = (uint8_t)r };
		}
	}
	qsort(s->ops, s->n_ops, sizeof(*s->ops), by_program);
	return 0;
}

static int find_period(struct ring_steps *s, bool bytes, struct err *err)
{
	CLEANUP(freep) uint64_t *tokens = xcalloc(s->n_ops + 1, sizeof(*tokens));
	size_t i;

	for (i = 0; i < s->n_ops; i++) {
		tokens[i] = ring_period_token(s->ops[i].ring, s->ops[i].op, bytes);
		s->ops[i].token = tokens[i];
	}
	return ring_period_find(tokens, s->n_ops, &s->period, err);
}

/* --- where to cut --- */

/* A place between two operations where a step may end. */
struct place {
	size_t at;     /* the following operation */
	uint64_t pair; /* the operations on both sides */
	double gap;    /* ns */
	bool norm;     /* it follows a norm */
};

static bool ends_step(uint8_t work)
{
	return work == RING_WORK_GRADS || work == RING_WORK_EMBEDDING || work == RING_WORK_CLIP;
}

static bool is_transfer(uint8_t work)
{
	return work >= RING_WORK_FORWARD_SEND && work <= RING_WORK_BACKWARD_RECV;
}

static int by_pair(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->pair != right->pair)
		return left->pair < right->pair ? -1 : 1;
	return (left->at > right->at) - (left->at < right->at);
}

static int by_at(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	return (left->at > right->at) - (left->at < right->at);
}

/* Places after gradients: those followed by something else, if there are any, otherwise all. */
static size_t list_places(const struct ring_steps *s, struct place *places)
{
	bool strict = false;
	uint64_t stop = 0;
	size_t i, n = 0;

	for (i = 1; i < s->n_ops; i++)
		strict |= ends_step(s->ops[i - 1].work) &&
			  (is_transfer(s->ops[i].work) || s->ops[i].work == RING_WORK_PARAMS);
	for (i = 1; i < s->n_ops; i++) {
		const struct ring_step_op *last = &s->ops[i - 1], *next = &s->ops[i];

		if (ring_clock_has(last->op))
			stop = MAX(stop, last->op->gpu_stop_ns);
		if (!ends_step(last->work) || (strict && ends_step(next->work)) ||
		    !ring_clock_has(next->op))
			continue;
		places[n++] = (struct place){ i, last->token ^ next->token * 31,
					      (double)(int64_t)(next->op->gpu_start_ns - stop),
					      strict && last->work == RING_WORK_CLIP };
	}
	return n;
}

static double median_gap(const struct place *places, size_t n)
{
	CLEANUP(freep) double *gaps = xcalloc(n, sizeof(*gaps));
	size_t i;

	for (i = 0; i < n; i++)
		gaps[i] = places[i].gap;
	return ring_line_median(gaps, n);
}

/* Moves places of the pair that occurs once a step, with the longest gap, to the front. */
static size_t once_a_step(const struct ring_steps *s, struct place *places, size_t n)
{
	const double steps = (double)s->n_ops / (double)s->period.n;
	size_t i, j, best = 0, best_n = 0;
	double longest = 0;

	qsort(places, n, sizeof(*places), by_pair);
	for (i = 0; i < n; i = j) {
		double gap;

		for (j = i; j < n && places[j].pair == places[i].pair; j++)
			;
		if ((double)(j - i) < ONCE_LEAST * steps || (double)(j - i) > ONCE_MOST * steps)
			continue;
		gap = median_gap(places + i, j - i);
		if (best_n == 0 || gap > longest) {
			best = i;
			best_n = j - i;
			longest = gap;
		}
	}
	memmove(places, places + best, best_n * sizeof(*places));
	return best_n;
}

/* Operations that look alike have no period: the longest gaps overall show what is usual. */
static double longest_of_all(const struct place *places, size_t n)
{
	CLEANUP(freep) double *gaps = xcalloc(n, sizeof(*gaps));
	const size_t top = MIN(MAX(n / ALIKE_MOST, (size_t)RING_STEPS_MIN), n);
	size_t i;

	for (i = 0; i < n; i++)
		gaps[i] = -places[i].gap;
	(void)ring_line_median(gaps, n);
	return -gaps[(top - 1) / 2];
}

/* If all look alike: gaps at least half as long as the usual longest one of a period. */
static size_t longest_gaps(const struct ring_steps *s, struct place *places, size_t n)
{
	CLEANUP(freep) double *longest = xcalloc(s->n_ops / s->period.n + 1, sizeof(*longest));
	const size_t periods = s->n_ops / s->period.n;
	size_t i, kept = 0;
	double usual;

	for (i = 0; i < n; i++) {
		double *at = &longest[places[i].at / s->period.n];

		*at = MAX(*at, places[i].gap);
	}
	usual = s->period.n > 1 ? ring_line_median(longest, periods) : longest_of_all(places, n);
	qsort(places, n, sizeof(*places), by_at);
	for (i = 0; i < n; i++) {
		if (places[i].gap >= usual / 2)
			places[kept++] = places[i];
	}
	return kept;
}

/* Places after the norm of all gradients not followed by gradients again: one a step. */
static size_t behind_norms(struct place *places, size_t n)
{
	size_t i, kept = 0, norms = 0;

	for (i = 0; i < n; i++)
		norms += places[i].norm;
	if (norms < RING_STEPS_MIN)
		return 0;
	for (i = 0; i < n; i++) {
		if (places[i].norm)
			places[kept++] = places[i];
	}
	return kept;
}

static size_t find_cuts(const struct ring_steps *s, struct place *places)
{
	const size_t n = list_places(s, places);
	CLEANUP(freep) struct place *all = xcalloc(n + 1, sizeof(*all));
	size_t kept = behind_norms(places, n);

	if (kept > 0)
		return kept;
	memcpy(all, places, n * sizeof(*all));
	kept = s->period.n > 1 ? once_a_step(s, places, n) : 0;
	if (kept == 0) {
		memcpy(places, all, n * sizeof(*all));
		kept = n ? longest_gaps(s, places, n) : 0;
	}
	qsort(places, kept, sizeof(*places), by_at);
	return kept;
}

/* --- which steps are whole --- */

struct candidate {
	size_t first, n;
	uint64_t sum; /* of its operations, in any order: streams do not keep one */
	bool stamped; /* all timestamps present and monotonic */
};

/*
 * Operations of a stream run in order: a start before that of the previous one is from a later
 * kernel, or is no timestamp.
 */
static bool stamps_fit(const struct ring_steps *s, const struct candidate *c)
{
	uint64_t last[RING_STEPS_RINGS_MAX] = { 0 };
	size_t i;

	/* Including the last one before and the first one after: computing is between them. */
	for (i = c->first - 1; i <= c->first + c->n; i++) {
		const struct ring_op *op = s->ops[i].op;

		if (!ring_clock_has(op))
			return false;
		if (is_transfer(s->ops[i].work))
			continue;
		if (op->gpu_start_ns < last[s->ops[i].ring])
			return false;
		last[s->ops[i].ring] = op->gpu_start_ns;
	}
	return true;
}

static int by_sum(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* The most common sum; returns how many have it. */
static size_t usual_sum(const struct candidate *candidates, size_t n, uint64_t *ret_sum)
{
	CLEANUP(freep) uint64_t *sums = xcalloc(n + 1, sizeof(*sums));
	size_t i, run = 0, best = 0;

	for (i = 0; i < n; i++)
		sums[i] = candidates[i].sum;
	qsort(sums, n, sizeof(*sums), by_sum);
	for (i = 0; i < n; i++) {
		run = i > 0 && sums[i] == sums[i - 1] ? run + 1 : 1;
		if (run > best) {
			best = run;
			*ret_sum = sums[i];
		}
	}
	return best;
}

/* The collective that numbers steps: the last of a step in the widest communicator. */
static const struct ring_op *numbering(const struct ring_view *rings, const struct ring_steps *s,
				       size_t first, size_t n)
{
	const struct ring_step_op *best = NULL;
	size_t i;

	for (i = first; i < first + n; i++) {
		const struct ring_step_op *op = &s->ops[i];

		if (!is_transfer(op->work) &&
		    (!best || rings[op->ring].comm->n_ranks >= rings[best->ring].comm->n_ranks))
			best = op;
	}
	return best ? best->op : NULL;
}

/* Converts numbers of collectives to those of steps, by what a step adds. */
static int number_steps(const struct ring_view *rings, struct ring_steps *s, struct err *err)
{
	CLEANUP(freep) double *adds = xcalloc(s->n_steps + 1, sizeof(*adds));
	int64_t last = 0, add;
	size_t i, n = 0;

	for (i = 0; i < s->n_steps; i++) {
		const struct ring_op *op = numbering(rings, s, s->steps[i].first, s->steps[i].n);

		s->steps[i].number = op ? (int64_t)(op->seq & INT64_MAX) : -1;
		if (i > 0 && s->steps[i].first == s->steps[i - 1].first + s->steps[i - 1].n)
			adds[n++] = (double)(s->steps[i].number - last);
		last = s->steps[i].number;
	}
	add = n ? (int64_t)ring_line_median(adds, n) : 1;
	if (add < 1)
		return err_set(err, ENODATA, "NCCL does not number the collectives of this job");
	for (i = 0; i < s->n_steps; i++)
		s->steps[i].number /= add;
	for (i = 1; i < s->n_steps; i++) {
		if (s->steps[i].number <= s->steps[i - 1].number)
			return err_set(err, ENODATA,
				       "NCCL's sequence numbers for this job's collectives do not "
				       "increase");
	}
	return 0;
}

static int keep_whole(const struct ring_view *rings, const struct place *cuts, size_t n_cuts,
		      struct ring_steps *s, struct err *err)
{
	CLEANUP(freep) struct candidate *candidates = xcalloc(n_cuts + 1, sizeof(*candidates));
	size_t i, j, n = n_cuts ? n_cuts - 1 : 0, alike, first = 0, last = 0;
	uint64_t usual = 0;

	for (i = 0; i < n; i++) {
		struct candidate *c = &candidates[i];

		*c = (struct candidate){ cuts[i].at, cuts[i + 1].at - cuts[i].at, 0, false };
		for (j = c->first; j < c->first + c->n; j++)
			c->sum += ring_period_token(s->ops[j].ring, s->ops[j].op, false);
		c->stamped = stamps_fit(s, c);
	}
	alike = usual_sum(candidates, n, &usual);
	s->steps = xcalloc(n + 1, sizeof(*s->steps));
	for (i = 0; i < n; i++) {
		if (candidates[i].sum != usual || !candidates[i].stamped)
			continue;
		first = s->n_steps ? first : i;
		last = i;
		s->steps[s->n_steps++] =
			(struct ring_step){ 0, candidates[i].first, candidates[i].n };
	}
	if (s->n_steps < RING_STEPS_MIN)
		return err_set(err, ENODATA,
			       "of %zu steps, %zu are alike and %zu have all GPU time stamps: at "
			       "least %d are needed",
			       n, alike, s->n_steps, RING_STEPS_MIN);
	s->left_out = last - first + 1 - s->n_steps;
	return number_steps(rings, s, err);
}

int ring_steps_find(const struct ring_view *rings, size_t n, const struct ring_shape *shape,
		    struct ring_steps *ret, struct err *err)
{
	CLEANUP(ring_steps_release) struct ring_steps s = { .ops = NULL };
	CLEANUP(freep) struct place *places = NULL;
	struct err first = ERR_INIT;
	size_t n_cuts;
	int r = gather(rings, n, shape, &s, err);

	if (r < 0)
		return r;
	/* Uneven micro-batches make transfers of any size: then the size identifies nothing. */
	r = find_period(&s, true, &first);
	if (r < 0)
		r = find_period(&s, false, NULL);
	if (r < 0)
		return err_set(err, -r, "%s", first.msg);
	places = xcalloc(s.n_ops + 1, sizeof(*places));
	n_cuts = find_cuts(&s, places);
	if (n_cuts == 0)
		return err_set(
			err, ENODATA,
			"nothing marks the end of a step: neither gradients nor a norm is reduced");
	r = keep_whole(rings, places, n_cuts, &s, err);
	if (r < 0)
		return r;
	*ret = s;
	s = (struct ring_steps){ 0 };
	return 0;
}
