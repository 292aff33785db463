/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/ends.h"

#include <math.h>
#include <stdlib.h>

#include "attribution/trace_build.h"
#include "attribution/trace_job.h"
#include "lib/base/xalloc.h"
#include "lib/ring/ring_clock.h"

enum { MEMBERS_OF_A_PAIR = 2 };

/* Clocks differ if they do by this many standard errors. */
#define DIFFER 5

/* A member of a group: its keys, in the order that all members share. */
struct member {
	size_t worker, first_key, n_keys;
	struct ring_line ahead; /* over the first of its group */
	bool tight;
};

struct group {
	size_t first, n; /* members */
};

struct finder {
	const struct trace *trace;
	size_t (*ranges)[2]; /* [stage * OPTYPE_N + type]: first key, how many */
	struct member *members;
	struct group *groups;
	size_t n_members, n_groups, members_alloc, groups_alloc;
	struct ring_point *points; /* [ENDS_OPS_MAX] */
	double middle;		   /* middle of the trace, in seconds */
	struct ring_line *ahead;   /* [worker], over `middle` */
	bool *known;
};

static void finder_release(struct finder *f)
{
	free(f->ranges);
	free(f->members);
	free(f->groups);
	free(f->points);
	free(f->known);
}

static const size_t *range_of(const struct finder *f, size_t stage, enum optype type)
{
	return f->ranges[stage * OPTYPE_N + type];
}

static void find_ranges(struct finder *f)
{
	size_t i;

	f->ranges = xcalloc((size_t)f->trace->job.pp * OPTYPE_N, sizeof(*f->ranges));
	for (i = f->trace->n_keys; i-- > 0;) {
		size_t *range = f->ranges[f->trace->keys[i].stage * (size_t)OPTYPE_N +
					  f->trace->keys[i].type];

		range[0] = i;
		range[1]++;
	}
}

/* --- groups --- */

static void begin_group(struct finder *f)
{
	if (f->n_groups == f->groups_alloc) {
		f->groups_alloc = f->groups_alloc ? 2 * f->groups_alloc : 64;
		f->groups = xrealloc(f->groups, f->groups_alloc, sizeof(*f->groups));
	}
	f->groups[f->n_groups++] = (struct group){ f->n_members, 0 };
}

static void add_member(struct finder *f, size_t d, size_t stage, const size_t range[2])
{
	if (f->n_members == f->members_alloc) {
		f->members_alloc = f->members_alloc ? 2 * f->members_alloc : 256;
		f->members = xrealloc(f->members, f->members_alloc, sizeof(*f->members));
	}
	f->members[f->n_members++] = (struct member){ .worker = d * f->trace->job.pp + stage,
						      .first_key = range[0],
						      .n_keys = range[1] };
	f->groups[f->n_groups - 1].n++;
}

/* When an operation that both leave together ends by a worker's clock. */
static double end_of(const struct finder *f, size_t key, size_t step, size_t worker)
{
	const struct trace *trace = f->trace;
	const size_t at = key * trace->n_lanes + step * trace->job.dp + worker / trace->job.pp;

	return trace->began[step] - trace->began[0] + trace->start[at] + trace->duration[at];
}

/* Points of `b`'s ends minus `a`'s, over the time of `over`. */
static size_t compare(const struct finder *f, const struct member *a, const struct member *b,
		      const struct member *over, struct ring_point *points)
{
	const size_t all = a->n_keys * f->trace->n_steps;
	const size_t apart = (all + ENDS_OPS_MAX - 1) / ENDS_OPS_MAX;
	size_t i, n = 0;

	for (i = 0; a->n_keys == b->n_keys && i < all; i += apart) {
		const size_t key = i % a->n_keys, step = i / a->n_keys;
		const double one = end_of(f, a->first_key + key, step, a->worker);
		const double other = end_of(f, b->first_key + key, step, b->worker);

		points[n++] = (struct ring_point){ over == a ? one : other, other - one };
	}
	return n;
}

/* A worker's offset to itself: zero, without error. */
static struct ring_line exact(const struct finder *f)
{
	return (struct ring_line){ .base = f->middle, .n = SIZE_MAX };
}

/* Move the line to the common base. */
static struct ring_line rebased(const struct finder *f, struct ring_line line)
{
	line.at = ring_line_at(&line, f->middle);
	line.base = f->middle;
	return line;
}

static void compare_members(struct finder *f, const struct group *group)
{
	struct member *first = &f->members[group->first];
	size_t i, n;

	first->tight = true;
	first->ahead = exact(f);
	for (i = 1; i < group->n; i++) {
		struct member *m = first + i;

		n = compare(f, first, m, m, f->points);
		if (n < ENDS_OPS_MIN)
			continue;
		m->ahead = rebased(f, ring_line_fit(f->points, n, RING_CLOCK_SLOPE_MOST));
		m->tight = m->ahead.iqr <= ENDS_APART;
	}
}

/* The workers that leave operations of these types together. */
static void add_replicas(struct finder *f, size_t stage, enum optype type)
{
	size_t d;

	begin_group(f);
	for (d = 0; d < f->trace->job.dp; d++)
		add_member(f, d, stage, range_of(f, stage, type));
	compare_members(f, &f->groups[f->n_groups - 1]);
}

static void add_everybody(struct finder *f)
{
	size_t d, stage;

	begin_group(f);
	for (d = 0; d < f->trace->job.dp; d++) {
		for (stage = 0; stage < f->trace->job.pp; stage++)
			add_member(f, d, stage, range_of(f, stage, OP_CLIP_MAIN_GRAD));
	}
	compare_members(f, &f->groups[f->n_groups - 1]);
}

static void add_ends(struct finder *f, size_t d)
{
	const size_t last = f->trace->job.pp - 1;

	begin_group(f);
	add_member(f, d, 0, range_of(f, 0, OP_EMBEDDING_GRADS));
	add_member(f, d, last, range_of(f, last, OP_EMBEDDING_GRADS));
	compare_members(f, &f->groups[f->n_groups - 1]);
}

/* Two neighbours, from transfers in both directions, as if they were a group. */
static void add_neighbours(struct finder *f, size_t d, size_t stage)
{
	static const enum optype types[2][2] = { { OP_FORWARD_SEND, OP_FORWARD_RECV },
						 { OP_BACKWARD_SEND, OP_BACKWARD_RECV } };
	struct ring_line lines[2];
	struct member ends[2], *pair;
	size_t way, n;

	for (way = 0; way < 2; way++) {
		/* The sender, then the receiver. */
		const size_t from = stage + way, to = stage + 1 - way;
		const size_t *sent = range_of(f, from, types[way][0]);
		const size_t *got = range_of(f, to, types[way][1]);

		ends[0] = (struct member){ .worker = d * f->trace->job.pp + from,
					   .first_key = sent[0],
					   .n_keys = sent[1] };
		ends[1] = (struct member){ .worker = d * f->trace->job.pp + to,
					   .first_key = got[0],
					   .n_keys = got[1] };
		n = compare(f, &ends[0], &ends[1], &ends[1 - way], f->points);
		if (n < ENDS_OPS_MIN)
			return;
		lines[way] = rebased(f, ring_line_fit(f->points, n, RING_CLOCK_SLOPE_MOST));
	}
	begin_group(f);
	add_member(f, d, stage, range_of(f, stage, OP_FORWARD_SEND));
	add_member(f, d, stage + 1, range_of(f, stage + 1, OP_FORWARD_RECV));
	pair = &f->members[f->n_members - MEMBERS_OF_A_PAIR];
	pair[0].ahead = exact(f);
	pair[0].tight = true;
	pair[1].ahead = (struct ring_line){ .base = f->middle,
					    .at = (lines[0].at - lines[1].at) / 2,
					    .slope = (lines[0].slope - lines[1].slope) / 2,
					    .iqr = MAX(lines[0].iqr, lines[1].iqr),
					    .n = MIN(lines[0].n, lines[1].n) };
	pair[1].tight = pair[1].ahead.iqr <= ENDS_APART;
}

/*
 * Find the groups of all workers and of replicas. Returns how many members are compared with
 * their first.
 */
static size_t find_wide(struct finder *f)
{
	const struct trace_job *job = &f->trace->job;
	size_t stage, i, tight = 0;

	add_everybody(f);
	for (stage = 0; job->dp > 1 && stage < job->pp; stage++) {
		add_replicas(f, stage, OP_GRADS_REDUCE_SCATTER);
		add_replicas(f, stage, OP_PARAMS_ALL_GATHER);
	}
	for (i = 0; i < f->n_members; i++)
		tight += f->members[i].tight;
	return tight - f->n_groups;
}

static void find_pipelines(struct finder *f)
{
	const struct trace_job *job = &f->trace->job;
	size_t d, stage;

	for (d = 0; job->pp > 1 && d < job->dp; d++) {
		add_ends(f, d);
		/*
		 * With model chunks, a send and a receive of the same number are not one
		 * transfer.
		 */
		for (stage = 0; job->vpp == 1 && stage + 1 < job->pp; stage++)
			add_neighbours(f, d, stage);
	}
}

/*
 * Wide groups first: errors add up along a path from worker to worker, so short paths are better.
 * And only wide groups connect replicas.
 */
static bool find_groups(struct finder *f)
{
	if (find_wide(f) + 1 < f->trace->job.dp)
		return false;
	find_pipelines(f);
	return true;
}

/* --- clocks --- */

/* Offset of one member of a group, from that of another. */
static struct ring_line by_known(const struct ring_line *known, const struct ring_line *from,
				 const struct ring_line *to)
{
	const double iqr = MAX(from->iqr, to->iqr);
	const size_t n = MIN(from->n, to->n);

	return (struct ring_line){ .base = known->base,
				   .at = known->at + to->at - from->at,
				   .slope = known->slope + to->slope - from->slope,
				   .iqr = MAX(known->iqr, iqr),
				   .n = MIN(known->n, n) };
}

static bool reach(struct finder *f, const struct group *group)
{
	const struct member *from = NULL, *m = &f->members[group->first];
	bool any = false;
	size_t i;

	for (i = 0; i < group->n && !from; i++)
		from = m[i].tight && f->known[m[i].worker] ? &m[i] : NULL;
	for (i = 0; from && i < group->n; i++) {
		if (!m[i].tight || f->known[m[i].worker])
			continue;
		f->ahead[m[i].worker] = by_known(&f->ahead[from->worker], &from->ahead, &m[i].ahead);
		f->known[m[i].worker] = any = true;
	}
	return any;
}

static bool reach_all(struct finder *f, size_t n_workers)
{
	bool any = true;
	size_t i, n = 0;

	f->known[0] = true;
	f->ahead[0] = exact(f);
	while (any) {
		any = false;
		for (i = 0; i < f->n_groups; i++)
			any |= reach(f, &f->groups[i]);
	}
	for (i = 0; i < n_workers; i++)
		n += f->known[i];
	return n == n_workers;
}

/* Is each group consistent with the result? */
static bool agree(const struct finder *f)
{
	size_t i, j;

	for (i = 0; i < f->n_groups; i++) {
		const struct member *m = &f->members[f->groups[i].first];

		for (j = 1; j < f->groups[i].n; j++) {
			const double found = f->ahead[m[j].worker].at - f->ahead[m[0].worker].at;

			if (m[j].tight && fabs(found - m[j].ahead.at) > ENDS_APART)
				return false;
		}
	}
	return true;
}

/* The largest standard error of all workers. */
static double error_of(const struct finder *f, size_t n)
{
	double worst = 0;
	size_t i;

	for (i = 0; i < n; i++)
		worst = MAX(worst, ring_line_median_error(f->ahead[i].iqr, f->ahead[i].n));
	return worst;
}

/*
 * Make the middle worker's clock the reference, as nobody knows the right one. Returns the
 * largest remaining offset.
 */
static double centre(struct finder *f, size_t n)
{
	CLEANUP(freep) double *values = xcalloc(n, sizeof(*values));
	CLEANUP(freep) double *slopes = xcalloc(n, sizeof(*slopes));
	double at, slope, most = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		values[i] = f->ahead[i].at;
		slopes[i] = f->ahead[i].slope;
	}
	at = ring_line_median(values, n);
	slope = ring_line_median(slopes, n);
	for (i = 0; i < n; i++) {
		f->ahead[i].at -= at;
		f->ahead[i].slope -= slope;
		most = MAX(most, fabs(f->ahead[i].at));
	}
	return most;
}

struct ends ends_find(const struct trace *trace)
{
	const size_t n = (size_t)trace->job.dp * trace->job.pp;
	struct ends ends = { .ahead = xcalloc(n, sizeof(*ends.ahead)) };
	CLEANUP(finder_release)
	struct finder f = { .trace = trace,
			    .points = xcalloc(ENDS_OPS_MAX + 1, sizeof(*f.points)),
			    .known = xcalloc(n, sizeof(*f.known)),
			    .ahead = ends.ahead };

	/* Steps may have any times, in any order. */
	f.middle = (trace->began[trace->n_steps - 1] - trace->began[0]) / 2;
	if (!(f.middle >= 0 && f.middle < TRACE_DURATION_MAX))
		return ends;
	find_ranges(&f);
	ends.agree = find_groups(&f) && reach_all(&f, n) && agree(&f);
	if (ends.agree)
		ends.differ = centre(&f, n) > MAX(ENDS_LEAST, DIFFER * error_of(&f, n));
	return ends;
}

void ends_correct(struct trace *trace, const struct ends *ends)
{
	const size_t dp = trace->job.dp, pp = trace->job.pp;
	size_t key, lane;

	for (key = 0; key < trace->n_keys; key++) {
		double *row = trace_row(trace, trace->start, key);

		for (lane = 0; lane < trace->n_lanes; lane++) {
			const size_t worker = lane % dp * pp + trace->keys[key].stage;
			const double at = trace->began[lane / dp] - trace->began[0] + row[lane];

			row[lane] -= ring_line_at(&ends->ahead[worker], at);
		}
	}
	trace_shift(trace);
}

void ends_release(struct ends *ends)
{
	free(ends->ahead);
	*ends = (struct ends){ 0 };
}
