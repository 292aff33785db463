/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain as in a forward pass: layers of four products and six copies (in the
 * place of what runs through memory: norms, softmax, residuals), launched one
 * by one. Hosts that slow training down by a tenth were not seen in products
 * alone (MegaScale, NSDI'24, section 5.2): there the launches run ahead of the
 * GPU. Here a launch that takes long leaves the GPU without work.
 *
 * The GPU's own time is that of the chain put behind work long enough for all
 * of it to be launched meanwhile; the time in earnest that of a chain put on an
 * idle stream. Both are read from the GPU's clock. One GPU at a time, from one
 * thread: what each rank of a job has.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/gemm/gemm_device.h"

enum {
	PRODUCTS = 4, /* of a layer */
	LAYERS = 8,
	LAUNCHES = 10 * LAYERS, /* of a chain */
	ALONE_RUNS = 3,		/* the shortest is the GPU's own time */
	BEHIND_US = 30000,	/* work before a chain: 375 us for each launch */
	BEHIND_MAX = 400,	/* products of it: what a stream holds beside the chain */
	TOKENS_MAX = 512,
	HIDDEN_MAX = 2048,
};

/* Part of the time that a GPU waits for launches, from which on the host is called slow. */
static const double host_bound = 0.2;

/* Rows are tokens; columns and depth in units of the hidden size. */
static const struct {
	unsigned n, k, copies;
} layer[PRODUCTS] = {
	{ 3, 1, 2 }, /* queries, keys, values */
	{ 1, 1, 2 }, /* projection */
	{ 4, 1, 1 }, /* up */
	{ 1, 4, 1 }, /* down */
};

struct chain {
	struct gemm_device *device;
	unsigned tokens, hidden;
	struct gemm_job jobs[PRODUCTS];
	struct accel_region scratch;
	struct accel_event *from, *to;
	double alone_s;		      /* of a layer, the GPU by itself */
	double windows[GEMM_WINDOWS]; /* of a layer, in earnest */
	size_t n;
};

static size_t copied(const struct chain *c)
{
	return (size_t)c->tokens * c->hidden * accel_dtype_size(c->device->plan->shape.out);
}

static void release_chain(struct chain *c)
{
	const struct accel_ops *ops = c->device->plan->ops;
	size_t i;

	for (i = 0; i < PRODUCTS; i++)
		gemm_job_release(c->device, &c->jobs[i]);
	if (c->scratch.ptr)
		ops->region_free(&c->scratch);
	ops->event_free(c->from);
	ops->event_free(c->to);
}

static int upload_factors(struct chain *c, struct err *err)
{
	const struct gemm_plan *plan = c->device->plan;
	size_t i, most = 0;
	CLEANUP(freep) void *data = NULL;
	int r = 0;

	for (i = 0; i < PRODUCTS; i++) {
		most = MAX(most, c->jobs[i].x.size);
		most = MAX(most, c->jobs[i].y.size);
	}
	data = malloc(most);
	if (!data)
		return err_set(err, ENOMEM, "no memory for factors of %zu bytes", most);
	gemm_fill_random(plan->shape.dtype, most / accel_dtype_size(plan->shape.dtype), plan->seed,
			 data);
	for (i = 0; r == 0 && i < PRODUCTS; i++) {
		r = plan->ops->upload(&c->jobs[i].x, 0, data, c->jobs[i].x.size, err);
		if (r == 0)
			r = plan->ops->upload(&c->jobs[i].y, 0, data, c->jobs[i].y.size, err);
	}
	return r;
}

static int set_up_chain(struct chain *c, struct err *err)
{
	struct gemm_device *d = c->device;
	const struct accel_ops *ops = d->plan->ops;
	struct accel_memory memory = { ACCEL_DEVICE, -1, copied(c) };
	size_t i;
	int r = ops->region_new(d->plan->accel, d->index, &memory, &c->scratch, err);

	for (i = 0; r == 0 && i < PRODUCTS; i++) {
		struct accel_gemm_shape shape = d->plan->shape;

		shape.m = c->tokens;
		shape.n = layer[i].n * c->hidden;
		shape.k = layer[i].k * c->hidden;
		r = gemm_job_init(d, &shape, &c->jobs[i], err);
	}
	if (r == 0)
		r = ops->event_new(d->plan->accel, d->index, &c->from, err);
	if (r == 0)
		r = ops->event_new(d->plan->accel, d->index, &c->to, err);
	return r == 0 ? upload_factors(c, err) : r;
}

static int put_layer(struct chain *c, struct err *err)
{
	const struct accel_ops *ops = c->device->plan->ops;
	size_t i, copies;
	int r = 0;

	for (i = 0; r == 0 && i < PRODUCTS; i++) {
		struct gemm_job *job = &c->jobs[i];
		struct accel_at from = { &job->out, 0 }, to = { &c->scratch, 0 };

		r = ops->gemm_run(job->gemm, c->device->stream, &job->x, &job->y, &job->out, err);
		for (copies = 0; r == 0 && copies < layer[i].copies; copies++)
			r = ops->copy(c->device->stream, to, from, copied(c), err);
	}
	return r;
}

/* Launch a chain, wait for it and tell how long a layer took on the GPU's clock. */
static int run_chain(struct chain *c, double *ret_s, struct err *err)
{
	const struct gemm_plan *plan = c->device->plan;
	const struct accel_ops *ops = plan->ops;
	double seconds = 0;
	unsigned i;
	int r = ops->event_record(c->from, c->device->stream, err);

	for (i = 0; r == 0 && i < LAYERS; i++)
		r = put_layer(c, err);
	if (r == 0)
		r = ops->event_record(c->to, c->device->stream, err);
	if (r == 0)
		r = ops->stream_wait(c->device->stream, plan->deadline_us, err);
	if (r == 0)
		r = ops->event_seconds(c->from, c->to, &seconds, err);
	if (r == 0)
		*ret_s = seconds / LAYERS;
	return r;
}

/* Work that keeps the GPU busy while a chain is launched behind it. */
static int put_before(struct chain *c, struct err *err)
{
	struct gemm_device *d = c->device;
	double n = BEHIND_US * 1e-6 / d->seconds_per_product;
	unsigned i, products = n < 1 ? 1 : n > BEHIND_MAX ? BEHIND_MAX : (unsigned)ceil(n);
	int r = 0;

	for (i = 0; r == 0 && i < products; i++)
		r = d->plan->ops->gemm_run(d->job.gemm, d->stream, &d->job.x, &d->job.y,
					   &d->job.out, err);
	return r;
}

static int measure_chain(struct chain *c, struct err *err)
{
	double seconds = 0;
	unsigned i;
	int r = run_chain(c, &seconds, err); /* the first one loads kernels */

	c->alone_s = INFINITY;
	for (i = 0; r == 0 && i < ALONE_RUNS; i++) {
		r = put_before(c, err);
		if (r == 0)
			r = run_chain(c, &seconds, err);
		c->alone_s = fmin(c->alone_s, seconds);
	}
	for (i = 0; r == 0 && i < GEMM_WINDOWS; i++) {
		r = run_chain(c, &seconds, err);
		if (r == 0)
			c->windows[c->n++] = seconds;
	}
	return r;
}

static void set_chain(struct sample *s, const struct chain *c)
{
	double share;

	(void)json_object_set_new(s->params, "chain", json_sprintf("%ux%u", c->tokens, c->hidden));
	if (s->state != SAMPLE_MEASURED || c->n < SAMPLE_WINDOWS_MIN)
		return;
	sample_set_windows(s, c->windows, c->n);
	share = fmax(0, 1 - c->alone_s / s->value);
	s->note = xasprintf(
		"%s: a layer of %d launches takes %.1f us, the GPU alone %.1f us: it waits "
		"for the host %.0f %% of the time",
		share >= host_bound ? "host-bound" : "not host-bound", LAUNCHES / LAYERS,
		1e6 * s->value, 1e6 * c->alone_s, 100 * share);
	if (share >= host_bound)
		s->code = xstrdup("host-bound");
}

static int chain_of(struct gemm_run *run, struct gemm_device *d)
{
	const struct gemm_plan *plan = run->plan;
	/* Of the products that draw full power: large enough to hide a launch of 5 us. */
	struct chain c = {
		.device = d,
		.tokens = MAX(MIN(plan->shape.m / 16, (unsigned)TOKENS_MAX), 1U),
		.hidden = MAX(MIN(plan->shape.k / 4, (unsigned)HIDDEN_MAX), 1U),
	};
	uint64_t start_us = plan->ops->now_us(plan->accel);
	struct err err = ERR_INIT;
	struct sample s;
	int r = 0;

	if (gemm_live(d))
		r = set_up_chain(&c, &err);
	if (r == 0 && gemm_live(d))
		r = measure_chain(&c, &err);
	if (r < 0)
		gemm_fail(d, r, &err);
	s = gemm_sample(d, "gemm.chain");
	s.unit = xstrdup("s");
	s.better = BETTER_LOWER;
	gemm_sample_time(&s, plan, start_us, plan->ops->now_us(plan->accel));
	set_chain(&s, &c);
	/* A hung stream is freed, and with it the engine's claim, before its memory. */
	if (r != -ETIMEDOUT)
		release_chain(&c);
	return gemm_emit(run, &s);
}

int gemm_chain(struct gemm_run *run)
{
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && run->plan->chain && i < run->n; i++)
		r = chain_of(run, &run->devices[i]);
	return r;
}
