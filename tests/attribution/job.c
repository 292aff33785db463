/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/attribution/job.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/attribution/pipeline.h"

enum {
	GPUS_OF_NODE = 8,
	LENGTHS_MAX = 16, /* sequences packed into a micro-batch */
};

static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

double job_chance(const struct job *job, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t z = mix(mix(mix(mix(mix(job->seed) ^ a) ^ b) ^ c) ^ d);

	return (double)(z >> 11) / 0x1p53;
}

int job_rank(const struct job *job, int d, int p)
{
	return (p * job->dp + d) * job->tp;
}

int job_node(const struct job *job, int d, int p)
{
	return job_rank(job, d, p) / GPUS_OF_NODE;
}

/* Returns a factor around 1, approximately normal. */
static double noise(const struct job *job, uint64_t what, uint64_t a, uint64_t b, uint64_t c)
{
	double sum = job_chance(job, what, a, b, c) + job_chance(job, what + 1000, a, b, c) +
		     job_chance(job, what + 2000, a, b, c) - 1.5;

	return 1 + job->noise * 2 * sum;
}

/*
 * Sequences of long-tailed lengths 1 / (1 + x), packed until the micro-batch is
 * full. Because of attention, the time is proportional to the sum of their squares.
 */
static double packed_work(const struct job *job, int step, int d, int mb)
{
	double left = 1, work = 0;
	uint64_t where = (uint64_t)step << 32 | (uint64_t)d << 16 | (uint64_t)mb;
	uint64_t i;

	for (i = 0; i < LENGTHS_MAX && left > 0.01; i++) {
		double u = job_chance(job, 77, where, i, 0);
		double length = MIN(left, 0.02 / (1.02 - u));

		work += length * length;
		left -= length;
	}
	return 0.5 + 1.5 * work;
}

static double slow_factor(const struct job *job, int step, int d, int p)
{
	double factor = p == job->pp - 1 ? job->last_stage : 1;
	int i;

	for (i = 0; i < job->n_slow; i++) {
		const struct job_slow *slow = &job->slow[i];

		if (slow->d == d && slow->p == p && step >= slow->from && step < slow->to)
			factor *= slow->factor;
	}
	return factor;
}

int64_t job_compute_ns(const struct job *job, int step, int d, int p, const struct slot *slot)
{
	uint64_t where = (uint64_t)p << 32 | (uint64_t)slot->mc << 16 | (uint64_t)slot->mb;
	double ns = slot->work == FORWARD ? job->forward_ns : job->backward_ns;
	int64_t pause = 0;
	int i;

	ns *= slow_factor(job, step, d, p);
	ns *= noise(job, (uint64_t)slot->work, (uint64_t)step, (uint64_t)d, where);
	if (job->uneven)
		ns *= packed_work(job, step, d, slot->mb);
	for (i = 0; i < job->n_pauses && slot->work == FORWARD && slot->mc == 0; i++) {
		const struct job_pause *at = &job->pauses[i];

		if (at->step == step && at->d == d && at->p == p && at->mb == slot->mb)
			pause += at->ns;
	}
	return llround(ns) + pause;
}

int64_t job_transfer_ns(const struct job *job, int step, int d, int p, int work, int seq)
{
	uint64_t where = (uint64_t)p << 32 | (uint64_t)seq;
	double ns = job->transfer_ns *
		    noise(job, 10 + (uint64_t)work, (uint64_t)step, (uint64_t)d, where);
	bool flaps = d == job->link_d && p == job->link_p && work == job->link_work;

	return llround(ns) + (flaps ? job->link_ns : 0);
}

static int64_t collective_ns(const struct job *job, int step, int type, int d, int p)
{
	bool grouped = type == JOB_REDUCE_SCATTER || type == JOB_ALL_GATHER;
	uint64_t replica = job->together ? 0 : (uint64_t)d;
	uint64_t stage = job->together && !grouped ? 0 : (uint64_t)p;
	double ns = 4 * job->transfer_ns *
		    noise(job, 20 + (uint64_t)type, (uint64_t)step, replica, stage);
	bool slow = type == JOB_REDUCE_SCATTER && job->slow_every && step % job->slow_every == 0;

	return llround(ns) + (slow ? job->collective_ns : 0) +
	       (grouped && p == job->slow_group ? job->group_ns : 0);
}

/* A step of all replicas during its simulation. */
struct play {
	const struct job *job;
	int step;
	struct job_op *ops;
	size_t n;
	int64_t *at; /* [d * pp + p]: end of the worker's last operation */
};

static void add(struct play *play, struct job_op op)
{
	op.step = play->step;
	play->ops[play->n++] = op;
}

static int64_t *at_of(struct play *play, int d, int p)
{
	return &play->at[d * play->job->pp + p];
}

/* Adds an operation on each worker, without synchronization. */
static void alone(struct play *play, int type, int64_t ns)
{
	int d, p;

	for (d = 0; d < play->job->dp; d++) {
		for (p = 0; p < play->job->pp; p++) {
			int64_t start = *at_of(play, d, p);

			*at_of(play, d, p) = start + ns;
			add(play, (struct job_op){ .d = d,
						   .p = p,
						   .type = type,
						   .mb = type == JOB_GC ? 0 : -1,
						   .mc = -1,
						   .start = start,
						   .end = start + ns });
		}
	}
}

/* Adds an operation in which all workers of d0..d1 and every `stride`th stage of p0..p1 synchronize. */
static void together(struct play *play, struct job_op like, const int range[5])
{
	int64_t start = 0;
	int d, p;

	for (d = range[0]; d <= range[1]; d++) {
		for (p = range[2]; p <= range[3]; p += range[4])
			start = MAX(start, *at_of(play, d, p));
	}
	for (d = range[0]; d <= range[1]; d++) {
		for (p = range[2]; p <= range[3]; p += range[4]) {
			like.d = d;
			like.p = p;
			like.start = *at_of(play, d, p);
			like.end = start + collective_ns(play->job, play->step, like.type, d, p);
			*at_of(play, d, p) = like.end;
			add(play, like);
		}
	}
}

static void over_replicas(struct play *play, int type, int chunk)
{
	int p;

	for (p = 0; p < play->job->pp; p++)
		together(play, (struct job_op){ .type = type, .seq = chunk, .mb = -1, .mc = chunk },
			 (int[]){ 0, play->job->dp - 1, p, p, 1 });
}

static void tail(struct play *play)
{
	const struct job *job = play->job;
	int d, c;

	alone(play, JOB_GC, 0);
	alone(play, JOB_LAYERNORM, 20000);
	for (d = 0; job->pp > 1 && d < job->dp; d++)
		together(play, (struct job_op){ .type = JOB_EMBEDDING, .mb = -1, .mc = -1 },
			 (int[]){ d, d, 0, job->pp - 1, job->pp - 1 });
	for (c = 0; job->dp > 1 && c < job->vpp; c++)
		over_replicas(play, JOB_REDUCE_SCATTER, c);
	together(play, (struct job_op){ .type = JOB_CLIP, .mb = -1, .mc = -1 },
		 (int[]){ 0, job->dp - 1, 0, job->pp - 1, 1 });
	alone(play, JOB_OPTIMIZER, 2 * MS);
}

size_t job_ops_max(const struct job *job)
{
	return (size_t)job->dp * (size_t)job->pp *
	       ((size_t)job->mb * (size_t)job->vpp * 6 + 2 * (size_t)job->vpp + 8);
}

/* Shifts clocks and drops records after the simulation. */
static size_t spoil(const struct job *job, struct job_op *ops, size_t n)
{
	size_t i, kept = 0;
	int j;

	for (i = 0; i < n; i++) {
		int64_t skew = job->skew_ns[job_node(job, ops[i].d, ops[i].p) % JOB_NODES_MAX];
		bool lost = false;

		for (j = 0; j < job->n_lost; j++) {
			const struct job_op *at = &job->lost[j];

			lost |= at->step == ops[i].step && at->d == ops[i].d && at->p == ops[i].p &&
				at->type == ops[i].type && at->seq == ops[i].seq;
		}
		ops[i].start += skew;
		ops[i].end += skew;
		if (!lost)
			ops[kept++] = ops[i];
	}
	return kept;
}

size_t job_play(const struct job *job, int step, struct job_op *ops)
{
	size_t workers = (size_t)job->dp * (size_t)job->pp;
	CLEANUP(freep) int64_t *at = xcalloc(workers, sizeof(*at));
	CLEANUP(freep) int64_t *ready = xcalloc(workers * (size_t)job->vpp, sizeof(*ready));
	struct play play = { job, step, ops, 0, at };
	int c, d, p;

	for (c = 0; c < job->vpp; c++) {
		if (job->dp > 1)
			over_replicas(&play, JOB_ALL_GATHER, c);
		for (d = 0; d < job->dp; d++) {
			for (p = 0; p < job->pp; p++)
				ready[(d * job->pp + p) * job->vpp + c] = *at_of(&play, d, p);
		}
	}
	for (d = 0; d < job->dp; d++)
		play.n += pipeline_play(job, step, d, ready + d * job->pp * job->vpp,
					at + d * job->pp, ops + play.n);
	tail(&play);
	return spoil(job, ops, play.n);
}
