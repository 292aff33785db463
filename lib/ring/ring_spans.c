/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ring/ring_spans.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* A send within this many seconds after the previous one waited for it: two timer ticks. */
#define AT_ONCE 3e-6
/* Of a forward and a backward: a backward is twice the work. */
#define FORWARD_PART (1.0 / 3)
/* And at most this part of both. */
#define FORWARD_MOST 0.5

enum {
	SAMPLES_MIN = 3, /* computes seen alone */
	TRANSFERS = 4,	 /* kinds, from RING_WORK_FORWARD_SEND on */
	POOLS_MAX = (RING_SPANS_USUAL - 8) / 2,
};

static double seconds(const struct ring_spans_clock *clock, uint64_t stamp)
{
	const double x = (double)(int64_t)(stamp - clock->base);

	return (x + ring_line_at(&clock->ahead, x)) / 1e9;
}

/* Computes whose duration is visible: a forward, a backward, one of each. */
enum sample { FORWARD_ALONE, BACKWARD_ALONE, BOTH, SAMPLES };

/* A step under construction. */
struct layout {
	const struct ring_spans_job *job;
	const struct ring_step_op *ops; /* of the step; ops[n] is the first of the next one */
	size_t n;
	unsigned stage;
	bool first, last; /* first or last stage */
	struct ring_spans *out;
	struct transfer {
		double start, end;
	} * transfers[TRANSFERS];
	size_t n_transfers[TRANSFERS];
	struct samples {
		double *list;
		size_t n;
	} samples[SAMPLES]; /* for ring_spans_prepare() */
};

static void layout_release(struct layout *l)
{
	size_t i;

	for (i = 0; i < TRANSFERS; i++)
		free(l->transfers[i]);
	for (i = 0; i < SAMPLES; i++)
		free(l->samples[i].list);
}

static double start_of(const struct layout *l, const struct ring_op *op)
{
	return seconds(&l->job->clock, op->gpu_start_ns);
}

static double end_of(const struct layout *l, const struct ring_op *op)
{
	return seconds(&l->job->clock, op->gpu_stop_ns);
}

static int full(struct err *err)
{
	return err_set(err, ENODATA, "a step has more than %d operations: no part holds them",
		       RING_SPANS_MAX);
}

static int add(struct layout *l, enum ring_work work, double start, double end, uint32_t stands_for)
{
	if (l->out->n == RING_SPANS_MAX)
		return -ENODATA;
	l->out->list[l->out->n++] =
		(struct ring_span){ start, MAX(start, end), stands_for, (uint8_t)work };
	return 0;
}

static bool is_transfer(enum ring_work work)
{
	return work >= RING_WORK_FORWARD_SEND && work <= RING_WORK_BACKWARD_RECV;
}

static struct layout layout_of(const struct ring_spans_job *job, const struct ring_step *step,
			       struct ring_spans *out)
{
	const unsigned stage = ring_shape_stage(&job->shape);
	struct layout l = { .job = job,
			    .ops = job->steps->ops + step->first,
			    .n = step->n,
			    .stage = stage,
			    .first = stage == 0,
			    .last = stage + 1 == job->shape.pp,
			    .out = out };
	size_t i;

	for (i = 0; i < SAMPLES; i++)
		l.samples[i].list = xcalloc(step->n + 1, sizeof(double));

	for (i = 0; i < TRANSFERS; i++)
		l.transfers[i] = xcalloc(step->n + 1, sizeof(*l.transfers[i]));
	for (i = 0; i < step->n; i++) {
		const struct ring_step_op *op = &l.ops[i];
		const size_t kind = op->work - (size_t)RING_WORK_FORWARD_SEND;

		if (is_transfer(op->work))
			l.transfers[kind][l.n_transfers[kind]++] =
				(struct transfer){ start_of(&l, op->op), end_of(&l, op->op) };
	}
	return l;
}

/* --- stages --- */

static const struct transfer *transfer(const struct layout *l, enum ring_work work, size_t i)
{
	const size_t kind = work - (size_t)RING_WORK_FORWARD_SEND;

	return i < l->n_transfers[kind] ? &l->transfers[kind][i] : NULL;
}

/* Number of forwards, if all transfers of the stage agree. */
static int count_forwards(const struct layout *l, size_t *ret, struct err *err)
{
	const size_t *n = l->n_transfers; /* forward send, receive, backward send, receive */
	const size_t forwards = l->last ? n[1] : n[0], backwards = l->first ? n[3] : n[2];

	if (forwards != backwards || (!l->first && n[1] != forwards) ||
	    (!l->last && n[3] != forwards))
		return err_set(err, ENODATA,
			       "a step of stage %u has %zu and %zu forward, %zu and %zu backward "
			       "sends and receives: they do not match",
			       l->stage, n[0], n[1], n[2], n[3]);
	*ret = forwards;
	return 0;
}

/* A compute; they are listed in the order in which they run. */
struct compute {
	enum ring_work work; /* RING_WORK_FORWARD, _BACKWARD */
	size_t i;	     /* micro-batch */
	double start, end;
};

/*
 * From the order of the program: a compute precedes its send; on the first stage, where a backward
 * has none, it follows its receive; on the last, forward and backward of a micro-batch alternate.
 */
static size_t list_computes(const struct layout *l, struct compute *computes)
{
	size_t next[2] = { 0, 0 }, n = 0, i;

	for (i = 0; i < l->n; i++) {
		const enum ring_work work = l->ops[i].work;

		if (l->last && work == RING_WORK_BACKWARD_SEND)
			computes[n++] =
				(struct compute){ .work = RING_WORK_FORWARD, .i = next[0]++ };
		if (work == RING_WORK_FORWARD_SEND)
			computes[n++] =
				(struct compute){ .work = RING_WORK_FORWARD, .i = next[0]++ };
		if (work == (l->first ? RING_WORK_BACKWARD_RECV : RING_WORK_BACKWARD_SEND))
			computes[n++] =
				(struct compute){ .work = RING_WORK_BACKWARD, .i = next[1]++ };
	}
	return n;
}

static void sample(struct layout *l, enum sample of, double seconds)
{
	struct samples *s = &l->samples[of];

	s->list[s->n++] = seconds;
}

/* The first forward of a step that gathers nothing before it has no visible beginning. */
static bool begins_unseen(const struct layout *l, const struct compute *c)
{
	return l->ops[0].work == RING_WORK_FORWARD_SEND && c->work == RING_WORK_FORWARD && c->i == 0;
}

/*
 * Where the send of a compute begins that starts at `start`, and usually takes `usual`, alone or
 * with the previous one; if it waited for the previous send, the next receive decides. NAN: it has
 * none.
 */
static double end_by_send(struct layout *l, const struct compute *c, enum sample of, double usual)
{
	const bool forward = c->work == RING_WORK_FORWARD;
	const enum ring_work sends = forward ? RING_WORK_FORWARD_SEND : RING_WORK_BACKWARD_SEND;
	const enum ring_work receives = forward ? RING_WORK_FORWARD_RECV : RING_WORK_BACKWARD_RECV;
	const struct transfer *send = transfer(l, sends, c->i);
	const struct transfer *before = c->i > 0 ? transfer(l, sends, c->i - 1) : NULL;
	const struct transfer *next = transfer(l, receives, c->i + 1);

	if (!send)
		return (double)NAN;
	if (!before || send->start > before->end + AT_ONCE) {
		if (!begins_unseen(l, c))
			sample(l, of, send->start - c->start);
		return send->start;
	}
	if (next && next->start > c->start && next->start < send->start)
		return next->start;
	return isnan(usual) ? send->start : MIN(send->start, c->start + usual);
}

/* When the first forward of the step that begins with `op` began, if it took as long as others. */
static double first_forward(const struct layout *l, const struct ring_step_op *op)
{
	return start_of(l, op->op) - (isnan(l->job->forward_s) ? 0 : l->job->forward_s);
}

/* When the inputs of the computes are ready: parameters, or the end of the previous step. */
static double begin(const struct layout *l)
{
	double at = l->ops[0].work == RING_WORK_PARAMS ? start_of(l, l->ops[0].op)
						       : end_of(l, l->ops[-1].op);
	size_t i;

	if (l->ops[0].work == RING_WORK_FORWARD_SEND)
		return MAX(at, first_forward(l, l->ops));
	for (i = 0; i < l->n && l->ops[i].work == RING_WORK_PARAMS; i++)
		at = MAX(at, end_of(l, l->ops[i].op));
	return at;
}

static double begin_of_tail(const struct layout *l)
{
	size_t i = l->n;

	while (i > 0 && !is_transfer(l->ops[i - 1].work))
		i--;
	return start_of(l, l->ops[i].op);
}

/* Where a backward of the first stage ends if no forward follows: where the next receive begins. */
static double end_alone(const struct layout *l, const struct compute *c, const struct compute *next)
{
	const struct transfer *receive = next ? transfer(l, RING_WORK_BACKWARD_RECV, next->i)
					      : NULL;

	if (!receive)
		return begin_of_tail(l);
	return receive->start > c->start ? receive->start : receive->end;
}

/* Divides the time that a pair took together: the second one ends at `end`. */
static void cut_pair(const struct layout *l, struct compute *one, struct compute *two, double end)
{
	const double both = MAX(end - one->start, 0);
	double forward = isnan(l->job->forward_s) ? both * FORWARD_PART : l->job->forward_s;

	forward = MIN(forward, both * FORWARD_MOST);
	one->end = one->start + (one->work == RING_WORK_FORWARD ? forward : both - forward);
	two->start = one->end;
	two->end = end;
}

static bool has_send(const struct layout *l, const struct compute *c)
{
	return c->work == RING_WORK_FORWARD ? !l->last : !l->first;
}

/* Times one compute, or two with nothing visible in between; returns how many. */
static size_t time_compute(struct layout *l, struct compute *c, size_t left, double done)
{
	struct compute *next = left > 1 ? c + 1 : NULL;
	const bool forward = c->work == RING_WORK_FORWARD;
	const struct transfer *in =
		transfer(l, forward ? RING_WORK_FORWARD_RECV : RING_WORK_BACKWARD_RECV, c->i);

	c->start = in ? MAX(done, in->end) : done;
	if (has_send(l, c)) {
		c->end = end_by_send(l, c, forward ? FORWARD_ALONE : BACKWARD_ALONE,
				     forward ? l->job->forward_s : l->job->backward_s);
	} else if (next && next->work != c->work && has_send(l, next)) {
		next->start = c->start;
		cut_pair(l, c, next, end_by_send(l, next, BOTH, l->job->both_s));
		return 2;
	} else {
		c->end = end_alone(l, c, next);
	}
	c->end = MAX(c->end, c->start);
	return 1;
}

static void time_computes(struct layout *l, struct compute *computes, size_t n)
{
	double done = begin(l);
	size_t i, timed;

	for (i = 0; i < n; i += timed) {
		timed = time_compute(l, &computes[i], n - i, done);
		done = computes[i + timed - 1].end;
	}
}

static int add_transfers(struct layout *l)
{
	size_t kind, i;
	int r = 0;

	for (kind = 0; kind < TRANSFERS; kind++) {
		for (i = 0; r == 0 && i < l->n_transfers[kind]; i++)
			r = add(l, (enum ring_work)(RING_WORK_FORWARD_SEND + kind),
				l->transfers[kind][i].start, l->transfers[kind][i].end, 1);
	}
	return r;
}

/* Collectives of one kind of work, separately or (`pool`) with consecutive ones merged. */
static int add_collectives(struct layout *l, bool pool)
{
	size_t i, j;
	int r = 0;

	for (i = 0; r == 0 && i < l->n; i = j) {
		double end = end_of(l, l->ops[i].op);

		for (j = i + 1; pool && j < l->n && l->ops[j].work == l->ops[i].work; j++)
			end = MAX(end, end_of(l, l->ops[j].op));
		if (!is_transfer(l->ops[i].work))
			r = add(l, l->ops[i].work, start_of(l, l->ops[i].op), end,
				(uint32_t)(j - i));
		else
			j = i + 1;
	}
	return r;
}

/*
 * From the last collective to the parameters of the next step; if none are gathered, to its first
 * receive, or (first stage) to where its first forward began if it took as long as others.
 */
static int add_optimizer(struct layout *l)
{
	const struct ring_step_op *next = &l->ops[l->n];
	double end = end_of(l, l->ops[0].op), until = start_of(l, next->op);
	size_t i;

	if (next->work == RING_WORK_FORWARD_SEND)
		until = first_forward(l, next);
	else if (next->work != RING_WORK_PARAMS && next->work != RING_WORK_FORWARD_RECV)
		return 0;
	for (i = 1; i < l->n; i++)
		end = MAX(end, end_of(l, l->ops[i].op));
	return add(l, RING_WORK_OPTIMIZER, end, until, 0);
}

static size_t count_collectives(const struct layout *l)
{
	size_t i, n = 0;

	for (i = 0; i < l->n; i++)
		n += !is_transfer(l->ops[i].work);
	return n;
}

static int lay_out_stage(struct layout *l, struct err *err)
{
	CLEANUP(freep) struct compute *computes = xcalloc(2 * l->n + 1, sizeof(*computes));
	size_t i, n, forwards = 0, lines;
	int r = count_forwards(l, &forwards, err);

	if (r < 0)
		return r;
	n = list_computes(l, computes);
	time_computes(l, computes, n);
	if (!l->out)
		return 0;
	lines = l->n + n + 1;
	r = add_collectives(l, lines > RING_SPANS_USUAL && count_collectives(l) > TRANSFERS);
	for (i = 0; r == 0 && i < n; i++)
		r = add(l, computes[i].work, computes[i].start, computes[i].end, 0);
	if (r == 0)
		r = add_transfers(l);
	if (r == 0)
		r = add_optimizer(l);
	return r == 0 ? 0 : full(err);
}

/* --- no stages --- */

/*
 * Merges the collectives of the replicas from i to j - 1: what lay between them becomes computing
 * before them. They end together on all ranks, so all agree on how long data moved.
 */
static int add_pool(struct layout *l, size_t i, size_t j, double *done, bool *grads)
{
	const double start = *done;
	double computing = 0, end = start;
	const bool gathers = l->ops[0].work == RING_WORK_PARAMS && i == 0;
	const bool after = *grads;
	uint8_t work = l->ops[i].work;
	uint32_t n = (uint32_t)(j - i);
	int r = 0;

	for (; i < j; i++) {
		computing += MAX(start_of(l, l->ops[i].op) - end, 0);
		end = MAX(end, end_of(l, l->ops[i].op));
		if (l->ops[i].work == RING_WORK_GRADS)
			work = RING_WORK_GRADS;
	}
	if (!gathers || n > 1)
		r = add(l, after ? RING_WORK_BACKWARD : RING_WORK_FORWARD, start, start + computing,
			0);
	*done = end;
	*grads = after || work == RING_WORK_GRADS;
	return r == 0 ? add(l, work, start + computing, end, n) : r;
}

static bool is_data(enum ring_work work)
{
	return work == RING_WORK_PARAMS || work == RING_WORK_GRADS;
}

static int lay_out_alone(struct layout *l, struct err *err)
{
	const bool gathers = l->ops[0].work == RING_WORK_PARAMS;
	double done = gathers ? start_of(l, l->ops[0].op) : begin(l);
	bool grads = false;
	size_t i, j, of_data = 0, size;
	int r = 0;

	for (i = 0; i < l->n; i++)
		of_data += is_data(l->ops[i].work);
	size = (of_data + POOLS_MAX - 1) / POOLS_MAX;
	for (i = 0; r == 0 && i < l->n; i = j) {
		j = i + 1;
		if (!is_data(l->ops[i].work)) {
			const struct ring_op *op = l->ops[i].op;

			r = add(l, l->ops[i].work, start_of(l, op), end_of(l, op), 1);
			done = MAX(done, end_of(l, op));
			continue;
		}
		while (j < l->n && j - i < size && is_data(l->ops[j].work))
			j++;
		r = add_pool(l, i, j, &done, &grads);
	}
	if (r == 0)
		r = add_optimizer(l);
	return r == 0 ? 0 : full(err);
}

/* --- both --- */

int ring_spans_of(const struct ring_spans_job *job, const struct ring_step *step,
		  struct ring_spans *ret, struct err *err)
{
	CLEANUP(layout_release) struct layout l = layout_of(job, step, ret);

	ret->n = 0;
	return job->shape.pp > 1 ? lay_out_stage(&l, err) : lay_out_alone(&l, err);
}

static void take_samples(struct samples *all, const struct layout *l)
{
	size_t i;

	for (i = 0; i < SAMPLES; i++) {
		memcpy(all[i].list + all[i].n, l->samples[i].list, l->samples[i].n * sizeof(double));
		all[i].n += l->samples[i].n;
	}
}

static double usual(struct samples *s)
{
	return s->n >= SAMPLES_MIN ? ring_line_median(s->list, s->n) : (double)NAN;
}

void ring_spans_prepare(struct ring_spans_job *job)
{
	const struct ring_steps *steps = job->steps;
	CLEANUP(freep) double *room = xcalloc(SAMPLES * (steps->n_ops + 1), sizeof(*room));
	struct samples all[SAMPLES];
	size_t i;

	job->forward_s = job->backward_s = job->both_s = (double)NAN;
	for (i = 0; i < SAMPLES; i++)
		all[i] = (struct samples){ room + i * (steps->n_ops + 1), 0 };
	for (i = 0; job->shape.pp > 1 && i < steps->n_steps; i++) {
		CLEANUP(layout_release)
		struct layout l = layout_of(job, &steps->steps[i], NULL);

		if (lay_out_stage(&l, NULL) < 0)
			return;
		take_samples(all, &l);
	}
	job->forward_s = usual(&all[FORWARD_ALONE]);
	job->backward_s = usual(&all[BACKWARD_ALONE]);
	job->both_s = usual(&all[BOTH]);
	if (isnan(job->forward_s))
		job->forward_s = job->both_s * FORWARD_PART;
}
