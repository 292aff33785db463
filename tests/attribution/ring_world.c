/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/attribution/ring_world.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"

#define GPU_ORIGIN UINT64_C(1700000000000000000)
#define MONO_ORIGIN UINT64_C(5000000000000)
#define REAL_ORIGIN UINT64_C(1790000000000000000)
/* Shape and method as in tests/attribution/windows.c. */
#define SHAPE 2.4

enum {
	STEPS_APART_NS = 200000,
	ENQUEUE_NS = 500, /* between two calls of the program */
	HEARD_NS = 3000,
	HEARD_MEAN_NS = 30000,
	TENSOR_NS = 50000,
};

enum ring_of { OF_DATA, OF_PIPELINE, OF_ENDS, OF_ALL, OF_TENSOR };

struct clock {
	double offset, drift, host_offset, host_drift;
};

/* A worker whose rings are being filled. */
struct filler {
	const struct job *job;
	const struct ring_world_options *o;
	struct ring_world *world;
	size_t rank;
	int d, p;
	struct clock clock;
	struct ring_view *views[RING_WORLD_RINGS];
	struct ring_op *ops[RING_WORLD_RINGS];
	uint64_t seqs[RING_WORLD_RINGS][RING_FUNCS], numbers[RING_WORLD_RINGS];
	int64_t base;	   /* start of the step */
	uint64_t enqueued; /* time of the last call */
	uint64_t draws;
};

/* --- random numbers --- */

static double chance(struct filler *f, uint64_t what)
{
	return job_chance(f->job, 90000 + what, f->rank, f->draws++, 0);
}

static double normal_of(const struct job *job, uint64_t what, uint64_t i)
{
	const double one = job_chance(job, 91000 + what, i, 0, 0);
	const double two = job_chance(job, 92000 + what, i, 0, 0);

	return sqrt(-2 * log(1 - one)) * cos(2 * 3.14159265358979323846 * two);
}

double ring_world_silicon(const struct job *job, uint64_t part, double spread)
{
	const double d = SHAPE - 1.0 / 3, c = 1 / sqrt(9 * d);
	uint64_t i;

	for (i = part << 20;; i++) {
		const double x = normal_of(job, 1, i), v = pow(1 + c * x, 3);
		const double u = 1 - job_chance(job, 93000, i, 0, 0);

		if (v > 0 && log(u) < 0.5 * x * x + d - d * v + d * log(v))
			return MAX(1 + spread * (d * v - SHAPE) / sqrt(SHAPE), 0.5);
	}
}

void ring_world_spread(struct job *job, double spread)
{
	int i;

	for (i = 0; i < job->dp * job->pp && job->n_slow < JOB_SLOW_MAX; i++)
		job->slow[job->n_slow++] =
			(struct job_slow){ i % job->dp, i / job->dp, 0, job->steps,
					   ring_world_silicon(job, (uint64_t)i, spread) };
}

/* --- one operation --- */

static uint64_t gpu_stamp(const struct filler *f, double at)
{
	const uint64_t stamp =
		(uint64_t)llround(at * (1 + f->clock.drift) + f->clock.offset) + GPU_ORIGIN;
	const uint64_t resolution = f->o->resolution_ns ? f->o->resolution_ns : 1;

	return stamp / resolution * resolution;
}

static uint64_t host_stamp(const struct filler *f, double at)
{
	return MONO_ORIGIN + (uint64_t)(at * (1 + f->clock.host_drift));
}

/* Replaces a timestamp by that of a later operation, marked or not, as the proxy's ring does. */
static void spoil(struct filler *f, struct ring_op *op)
{
	if (chance(f, 1) < 0.5)
		op->flags |= RING_STAMP_BAD;
	op->gpu_start_ns += 40 * (uint64_t)MS;
	if (chance(f, 1) < 0.5)
		op->gpu_stop_ns += 40 * (uint64_t)MS;
}

static void add(struct filler *f, enum ring_of of, struct ring_op op, double start, double end)
{
	const bool p2p = op.func == RING_SEND || op.func == RING_RECV;
	struct ring_view *view = f->views[of];
	double heard = HEARD_NS - HEARD_MEAN_NS * log(1 - chance(f, 2));

	if (chance(f, 3) < 0.01)
		heard += 2 * MS;
	end += f->o->hop_ns * (chance(f, 4) - 0.5) * 2;
	op.number = f->numbers[of]++;
	op.seq = p2p ? 0 : f->seqs[of][op.func]++;
	op.enqueued_ns = f->enqueued += ENQUEUE_NS;
	op.host_stop_ns = host_stamp(f, end + heard);
	op.host_start_ns = host_stamp(f, start + heard);
	if (f->o->no_kernels) {
		op.flags |= RING_NO_GPU;
	} else {
		op.gpu_start_ns = gpu_stamp(f, start);
		op.gpu_stop_ns = gpu_stamp(f, end);
	}
	op.flags |= RING_DONE;
	if (chance(f, 5) < f->o->lost)
		return;
	if (chance(f, 6) < f->o->bad)
		spoil(f, &op);
	f->ops[of][view->n++] = op;
	f->world->n_ops++;
}

/* --- a step, in the order of the program's calls --- */

struct call {
	double place;
	const struct job_op *op;
};

static int by_place(const void *a, const void *b)
{
	const struct call *left = a, *right = b;

	return (left->place > right->place) - (left->place < right->place);
}

static bool is_compute(const struct job_op *op)
{
	return op->type == JOB_COMPUTE || op->type == JOB_COMPUTE + BACKWARD;
}

static bool is_own(const struct filler *f, const struct job_op *op)
{
	return op->d == f->d && op->p == f->p;
}

/* Returns the index of a compute among those of its worker in this step, by start. */
static double compute_place(const struct filler *f, const struct job_op *ops, size_t n, int work,
			    int seq)
{
	const struct job_op *own = NULL;
	double place = 0;
	size_t i;

	for (i = 0; i < n && !own; i++) {
		if (is_own(f, &ops[i]) && ops[i].type == JOB_COMPUTE + work && ops[i].seq == seq)
			own = &ops[i];
	}
	for (i = 0; own && i < n; i++)
		place += is_own(f, &ops[i]) && is_compute(&ops[i]) && ops[i].start < own->start;
	return place;
}

static double place_of(const struct filler *f, const struct job_op *ops, size_t n,
		       const struct job_op *op)
{
	if (op->type == JOB_ALL_GATHER)
		return -1;
	if (op->type >= JOB_RECV && op->type < JOB_RECV + 2)
		return compute_place(f, ops, n, op->type - JOB_RECV, op->seq);
	if (op->type >= JOB_SEND && op->type < JOB_SEND + 2)
		return compute_place(f, ops, n, op->type - JOB_SEND, op->seq) + 0.6;
	if (is_compute(op))
		return compute_place(f, ops, n, op->type - JOB_COMPUTE, op->seq) + 0.3;
	return 1e6 + (double)(op->start / 1000) / 1e6;
}

static void add_tensor(struct filler *f, const struct job_op *op)
{
	const double start = (double)(f->base + op->start), end = (double)(f->base + op->end);
	int i;

	for (i = 0; f->views[OF_TENSOR] && i < f->o->tensor_ops; i++) {
		const double at = start + (end - start) * (i + 0.5) / f->o->tensor_ops;

		add(f, OF_TENSOR,
		    (struct ring_op){ .func = RING_ALL_REDUCE, .bytes = 1 << 22, .peer = -1 }, at,
		    at + TENSOR_NS);
	}
}

static void add_op(struct filler *f, const struct job_op *op)
{
	static const struct {
		enum ring_of of;
		uint8_t func;
		uint64_t bytes;
	} kinds[JOB_TYPES] = {
		[JOB_SEND] = { OF_PIPELINE, RING_SEND, 1 << 24 },
		[JOB_SEND + 1] = { OF_PIPELINE, RING_SEND, 1 << 24 },
		[JOB_RECV] = { OF_PIPELINE, RING_RECV, 1 << 24 },
		[JOB_RECV + 1] = { OF_PIPELINE, RING_RECV, 1 << 24 },
		[JOB_ALL_GATHER] = { OF_DATA, RING_ALL_GATHER, 1 << 29 },
		[JOB_REDUCE_SCATTER] = { OF_DATA, RING_REDUCE_SCATTER, 1 << 30 },
		[JOB_EMBEDDING] = { OF_ENDS, RING_ALL_REDUCE, 1 << 26 },
		[JOB_CLIP] = { OF_ALL, RING_ALL_REDUCE, 4 },
	};
	const bool forth = op->type == JOB_SEND || op->type == JOB_RECV + BACKWARD;
	enum ring_of of = kinds[op->type].of;
	int peer = -1;

	if (is_compute(op)) {
		add_tensor(f, op);
		return;
	}
	if (kinds[op->type].func == RING_OTHER)
		return;
	if (of == OF_PIPELINE)
		peer = f->p + (forth ? 1 : -1);
	if (of == OF_ENDS && f->job->pp == 2)
		of = OF_PIPELINE;
	add(f, of,
	    (struct ring_op){
		    .func = kinds[op->type].func, .bytes = kinds[op->type].bytes, .peer = peer },
	    (double)(f->base + op->start), (double)(f->base + op->end));
}

/* Evaluations between two steps, of the replicas or of all workers, while nothing else runs. */
static double evaluate(struct filler *f, int step, double at)
{
	int i;

	if (!f->o->evaluate_every || (step + 1) % f->o->evaluate_every)
		return at;
	for (i = 0; i < f->o->evaluations; i++) {
		at += 5 * MS;
		add(f, OF_ALL, (struct ring_op){ .func = RING_ALL_REDUCE, .bytes = 8, .peer = -1 },
		    at, at + MS);
		at += MS;
	}
	return at;
}

static void fill_step(struct filler *f, int step, const struct job_op *ops, size_t n, double end)
{
	CLEANUP(freep) struct call *calls = xcalloc(n + 1, sizeof(*calls));
	size_t i, n_calls = 0;

	f->enqueued = host_stamp(f, (double)f->base);
	for (i = 0; i < n; i++) {
		if (is_own(f, &ops[i]))
			calls[n_calls++] = (struct call){ place_of(f, ops, n, &ops[i]), &ops[i] };
	}
	qsort(calls, n_calls, sizeof(*calls), by_place);
	for (i = 0; i < n_calls; i++)
		add_op(f, calls[i].op);
	(void)evaluate(f, step, end);
}

/* --- the world --- */

static void open_ring(struct filler *f, enum ring_of of, uint64_t comm_id, int size, int place)
{
	const size_t at = f->rank * RING_WORLD_RINGS + f->world->ranks[f->rank].n++;
	const size_t steps = (size_t)f->job->steps;
	const size_t most = steps * ((size_t)f->job->mb * 6 * (size_t)MAX(f->o->tensor_ops, 1) +
				     (size_t)f->o->evaluations + 16);

	f->world->ops[at] = xcalloc(most, sizeof(struct ring_op));
	f->world->comms[at] = (struct ring_comm){
		.comm_id = comm_id,
		.n_nodes = 1,
		.n_ranks = size,
		.rank = place,
		.api = 5,
		.nccl = 22809,
		.mono_ns = MONO_ORIGIN,
		.real_ns = REAL_ORIGIN + (uint64_t)llround(f->clock.host_offset),
	};
	f->world->views[at] = (struct ring_view){ &f->world->comms[at], f->world->ops[at], 0 };
	f->views[of] = &f->world->views[at];
	f->ops[of] = f->world->ops[at];
}

static void open_rings(struct filler *f)
{
	const struct job *job = f->job;
	const bool end = f->p == 0 || f->p == job->pp - 1;

	if (job->dp > 1)
		open_ring(f, OF_DATA, 100 + (uint64_t)f->p, job->dp, f->d);
	if (job->pp > 1)
		open_ring(f, OF_PIPELINE, 10000 + (uint64_t)f->d, job->pp, f->p);
	if (job->pp > 2 && end)
		open_ring(f, OF_ENDS, 20000 + (uint64_t)f->d, 2, f->p > 0);
	open_ring(f, OF_ALL, 1, job->dp * job->pp * job->tp, job_rank(job, f->d, f->p));
	if (job->tp > 1)
		open_ring(f, OF_TENSOR, 30000 + f->rank, job->tp, 0);
}

static struct filler filler_of(struct ring_world *world, const struct job *job,
			       const struct ring_world_options *o, size_t rank)
{
	struct filler f = { .job = job,
			    .o = o,
			    .world = world,
			    .rank = rank,
			    .d = (int)rank % job->dp,
			    .p = (int)rank / job->dp };
	const uint64_t node = (uint64_t)job_node(job, f.d, f.p);

	f.clock = (struct clock){ o->offset_ns * normal_of(job, 2, rank),
				  o->drift * normal_of(job, 3, rank),
				  o->host_offset_ns * normal_of(job, 4, node),
				  o->host_drift * normal_of(job, 5, node) };
	world->ranks[rank].rings = &world->views[rank * RING_WORLD_RINGS];
	open_rings(&f);
	return f;
}

static int by_value(const void *a, const void *b)
{
	const double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* For each stage's reduce-scatter: how much later than the median each replica arrived. */
static void note_lateness(struct ring_world *world, const struct job *job, const struct job_op *ops,
			  size_t n)
{
	CLEANUP(freep) double *starts = xcalloc((size_t)job->dp, sizeof(*starts));
	CLEANUP(freep) double *sorted = xcalloc((size_t)job->dp, sizeof(*sorted));
	size_t i;
	int p, d;

	for (p = 0; p < job->pp; p++) {
		for (i = 0; i < n; i++) {
			if (ops[i].type == JOB_REDUCE_SCATTER && ops[i].p == p)
				starts[ops[i].d] = (double)ops[i].start / 1e9;
		}
		memcpy(sorted, starts, (size_t)job->dp * sizeof(*sorted));
		qsort(sorted, (size_t)job->dp, sizeof(*sorted), by_value);
		for (d = 0; d < job->dp; d++)
			world->late_s[d + job->dp * p] += starts[d] - sorted[(job->dp - 1) / 2];
	}
	world->n_late++;
}

struct ring_world *ring_world_new(const struct job *job, const struct ring_world_options *o)
{
	const size_t n = (size_t)job->dp * (size_t)job->pp;
	struct ring_world *world = xcalloc(1, sizeof(*world));
	CLEANUP(freep) struct filler *fillers = xcalloc(n, sizeof(*fillers));
	CLEANUP(freep) struct job_op *ops = xcalloc(job_ops_max(job), sizeof(*ops));
	int64_t base = MS;
	size_t i, n_ops;
	int step;

	world->n_ranks = n;
	world->ranks = xcalloc(n, sizeof(*world->ranks));
	world->views = xcalloc(n * RING_WORLD_RINGS, sizeof(*world->views));
	world->comms = xcalloc(n * RING_WORLD_RINGS, sizeof(*world->comms));
	world->ops = xcalloc(n * RING_WORLD_RINGS, sizeof(*world->ops));
	world->late_s = xcalloc(n, sizeof(*world->late_s));
	for (i = 0; i < n; i++)
		fillers[i] = filler_of(world, job, o, i);
	for (step = 0; step < job->steps; step++) {
		int64_t end = 0;

		n_ops = job_play(job, step, ops);
		for (i = 0; i < n_ops; i++)
			end = MAX(end, ops[i].end);
		for (i = 0; i < n; i++) {
			fillers[i].base = base;
			fill_step(&fillers[i], step, ops, n_ops, (double)(base + end));
		}
		if (step >= o->ends_cut && step < job->steps - o->ends_cut)
			note_lateness(world, job, ops, n_ops);
		base += end + STEPS_APART_NS;
		if (o->evaluate_every && (step + 1) % o->evaluate_every == 0)
			base += (o->evaluations + 1) * 6ll * MS;
	}
	return world;
}

void ring_world_free(struct ring_world *world)
{
	size_t i;

	if (!world)
		return;
	for (i = 0; i < world->n_ranks * RING_WORLD_RINGS; i++)
		free(world->ops[i]);
	free(world->ops);
	free(world->views);
	free(world->comms);
	free(world->ranks);
	free(world->late_s);
	free(world);
}
