/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_chain.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/gemm/gemm_data.h"
#include "probes/gemm/gemm_device.h"
#include "probes/gemm/gemm_place.h"

enum {
	PRODUCTS = 4, /* per layer */
	LAYERS = 8,
	LAUNCHES = 10 * LAYERS, /* per chain */
	ALONE_RUNS = 3,		/* the shortest is the GPU's own time */
	SETTLE_US = 100000,	/* of chains alone, until the clock recovers from full load */
	BEHIND_TIMES = 4,	/* copies before a chain last this many times its launches */
	BEHIND_MAX = 400,	/* limit of copies: a stream also holds a chain of split products */
	BEHIND_BYTES = 32 << 20, /* per copy: takes at least ten times as long as a launch */
	BEHIND_SOME = 2,	 /* copies to estimate the duration of one */
	TOKENS_MAX = 512,
	HIDDEN_MAX = 2048,
};

/* If a GPU waits for launches for at least this part of the time, the host is called slow. */
static const double host_bound = 0.2;

/* Rows are tokens; columns and depth are in units of the hidden size. */
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
	enum gemm_side side;
	unsigned tokens, hidden;
	struct gemm_job jobs[PRODUCTS];
	struct accel_region scratch, behind;
	struct accel_event *first, *from, *to;
	double alone_s;		      /* per layer, the GPU's own time; INFINITY: unknown */
	double windows[GEMM_WINDOWS]; /* per layer, real time */
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
	if (c->behind.ptr)
		ops->region_free(&c->behind);
	ops->event_free(c->first);
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
		return err_set(err, ENOMEM, "no memory for matrices of %zu bytes", most);
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
	struct accel_memory behind = { ACCEL_DEVICE, -1, (size_t)2 * BEHIND_BYTES };
	size_t i;
	int r = ops->region_new(d->plan->accel, d->index, &memory, &c->scratch, err);

	if (r == 0)
		r = ops->region_new(d->plan->accel, d->index, &behind, &c->behind, err);
	for (i = 0; r == 0 && i < PRODUCTS; i++) {
		struct accel_gemm_shape shape = d->plan->shape;

		shape.m = c->tokens;
		shape.n = layer[i].n * c->hidden;
		shape.k = layer[i].k * c->hidden;
		r = gemm_job_init(d, &shape, &c->jobs[i], err);
	}
	if (r == 0)
		r = ops->event_new(d->plan->accel, d->index, &c->first, err);
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

/* Times of a chain: copies before it and a layer on the GPU's clock, launches on the host's. */
struct took {
	double behind_s, layer_s, launch_s;
};

static int put_copies(struct chain *c, unsigned n, struct err *err)
{
	struct accel_at from = { &c->behind, 0 }, to = { &c->behind, BEHIND_BYTES };
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < n; i++)
		r = c->device->plan->ops->copy(c->device->stream, to, from, BEHIND_BYTES, err);
	return r;
}

/* Run a chain behind `copies` copies, wait for it, and return the times. */
static int run_chain(struct chain *c, unsigned copies, struct took *ret, struct err *err)
{
	const struct gemm_plan *plan = c->device->plan;
	const struct accel_ops *ops = plan->ops;
	const uint64_t start_ns = ops->now_ns(plan->accel);
	struct took took = { 0 };
	unsigned i;
	int r = ops->event_record(c->first, c->device->stream, err);

	if (r == 0)
		r = put_copies(c, copies, err);
	if (r == 0)
		r = ops->event_record(c->from, c->device->stream, err);
	for (i = 0; r == 0 && i < LAYERS; i++)
		r = put_layer(c, err);
	if (r == 0)
		r = ops->event_record(c->to, c->device->stream, err);
	took.launch_s = (double)(ops->now_ns(plan->accel) - start_ns) * 1e-9;
	if (r == 0)
		r = ops->stream_wait(c->device->stream, plan->deadline_us, err);
	if (r == 0)
		r = ops->event_seconds(c->first, c->from, &took.behind_s, err);
	if (r == 0)
		r = ops->event_seconds(c->from, c->to, &took.layer_s, err);
	took.layer_s /= LAYERS;
	if (r == 0)
		*ret = took;
	return r;
}

/* Estimate how many copies last while a chain is launched. */
static int count_copies(struct chain *c, unsigned *ret, struct err *err)
{
	struct took took;
	double n;
	int r = run_chain(c, BEHIND_SOME, &took, err); /* the first loads kernels */

	if (r == 0)
		r = run_chain(c, BEHIND_SOME, &took, err);
	if (r < 0)
		return r;
	n = ceil(BEHIND_TIMES * took.launch_s * BEHIND_SOME / fmax(took.behind_s, 1e-9));
	*ret = n > BEHIND_MAX ? (unsigned)BEHIND_MAX : MAX((unsigned)n, 1U);
	return 0;
}

/* The shortest of several chains that were fully launched before the GPU got to them. */
static int measure_alone(struct chain *c, struct err *err)
{
	unsigned copies, runs = 0;
	int r = count_copies(c, &copies, err);

	c->alone_s = (double)INFINITY;
	while (r == 0 && runs < ALONE_RUNS) {
		struct took took = { 0 };

		r = run_chain(c, copies, &took, err);
		if (r == 0 && took.launch_s < took.behind_s) {
			c->alone_s = fmin(c->alone_s, took.layer_s);
			runs++;
		} else if (r == 0 && copies == BEHIND_MAX) {
			break;
		} else {
			copies = MIN(2 * copies, (unsigned)BEHIND_MAX);
		}
	}
	return r;
}

static int measure_chain(struct chain *c, struct err *err)
{
	struct took took;
	const struct gemm_plan *plan = c->device->plan;
	const uint64_t settled_us = plan->ops->now_us(plan->accel) + SETTLE_US;
	unsigned i;
	int r = 0;

	while (r == 0 && plan->ops->now_us(plan->accel) < settled_us)
		r = run_chain(c, 0, &took, err);
	if (r == 0)
		r = measure_alone(c, err);

	for (i = 0; r == 0 && i < GEMM_WINDOWS; i++) {
		r = run_chain(c, 0, &took, err);
		if (r == 0)
			c->windows[c->n++] = took.layer_s;
	}
	return r;
}

static char *chain_words(double layer_s, double alone_s, double share)
{
	if (!isfinite(alone_s))
		return xasprintf("host-bound: a layer of %d launches takes %.1f us, the GPU's own "
				 "time is unknown: launches take longer than copies of %d MiB",
				 LAUNCHES / LAYERS, 1e6 * layer_s, BEHIND_BYTES >> 20);
	return xasprintf(
		"%s: a layer of %d launches takes %.1f us, the GPU alone %.1f us: it waits "
		"for the host %.0f %% of the time",
		share >= host_bound ? "host-bound" : "not host-bound", LAUNCHES / LAYERS,
		1e6 * layer_s, 1e6 * alone_s, 100 * share);
}

static void set_chain(struct sample *s, const struct chain *c)
{
	double share;

	(void)json_object_set_new(s->params, "chain", json_sprintf("%ux%u", c->tokens, c->hidden));
	gemm_place_params(c->device, c->side, s->params);
	if (s->state != SAMPLE_MEASURED || c->n < SAMPLE_WINDOWS_MIN)
		return;
	sample_set_windows(s, c->windows, c->n);
	share = isfinite(c->alone_s) ? fmax(0, 1 - c->alone_s / s->value) : 1;
	s->note = chain_words(s->value, c->alone_s, share);
	if (share >= host_bound)
		s->code = xstrdup("host-bound");
}

static int chain_of(struct gemm_run *run, struct gemm_device *d, enum gemm_side side)
{
	const struct gemm_plan *plan = run->plan;
	/*
	 * Smaller than the shape that draws full power, but large enough to hide a launch of 5 us.
	 */
	struct chain c = {
		.device = d,
		.side = side,
		.tokens = MAX(MIN(plan->shape.m / 16, (unsigned)TOKENS_MAX), 1U),
		.hidden = MAX(MIN(plan->shape.k / 4, (unsigned)HIDDEN_MAX), 1U),
	};
	uint64_t start_us = plan->ops->now_us(plan->accel);
	struct gemm_place place = { .moved = false };
	struct err err = ERR_INIT;
	struct sample s;
	int r = 0;

	if (gemm_live(d)) {
		gemm_place_enter(d, side, &place);
		r = set_up_chain(&c, &err);
		if (r == 0)
			r = measure_chain(&c, &err);
		gemm_place_leave(&place);
	}
	if (r < 0)
		gemm_fail(d, r, &err);
	s = gemm_sample(d, side == GEMM_FAR ? "gemm.chain_far" : "gemm.chain");
	s.unit = xstrdup("s");
	s.better = BETTER_LOWER;
	gemm_sample_time(&s, plan, start_us, plan->ops->now_us(plan->accel));
	set_chain(&s, &c);
	/* If the stream hangs it must be freed first, to end its claim on this memory. */
	if (r != -ETIMEDOUT)
		release_chain(&c);
	return gemm_emit(run, &s);
}

int gemm_chain(struct gemm_run *run)
{
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && run->plan->chain && i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];

		r = chain_of(run, d, GEMM_NEAR);
		if (r == 0 && gemm_live(d) && gemm_place_has(d, GEMM_FAR))
			r = chain_of(run, d, GEMM_FAR);
	}
	return r;
}
