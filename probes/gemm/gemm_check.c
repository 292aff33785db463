/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_check.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/gemm/gemm_data.h"
#include "probes/gemm/gemm_device.h"
#include "probes/gemm/gemm_verify.h"
#include "probes/gemm/gemm_vote.h"

enum { AGAIN_PRODUCTS = 4 };

/* An integer product in the form that devices use. */
struct exact {
	struct accel_gemm_shape shape;
	struct gemm_ints ints;
	int power;    /* exponent: factors are the integers times 2^power */
	void *x, *y;  /* the factors as elements */
	void *stale;  /* overwrites the result first: all NaN */
	void *result; /* the downloaded result */
	size_t x_size, y_size, out_size;
};

/* What was found wrong on one device. */
struct finding {
	struct gemm_wrong wrong;  /* the first wrong product */
	uint64_t count;		  /* wrong elements of all products */
	uint64_t product;	  /* its number, from 1 */
	bool input_damaged;	  /* a factor read back differs from what was sent */
	bool again;		  /* also wrong in other memory and with another shape */
	struct gemm_wrong second; /* in that retry */
};

static const struct accel_gemm_shape *check_shape(const struct gemm_device *d)
{
	return d->plan->check_shape.m ? &d->plan->check_shape : &d->plan->shape;
}

static struct gemm_job *check_job(struct gemm_device *d)
{
	return d->plan->check_shape.m ? &d->check : &d->job;
}

static void exact_release(struct exact *e)
{
	gemm_ints_release(&e->ints);
	free(e->x);
	free(e->y);
	free(e->stale);
	free(e->result);
	*e = (struct exact){ 0 };
}

/* The second factor as the engine stores it: by columns for FP8 (accel.h). */
static int fill_second(struct exact *e, size_t n)
{
	const struct gemm_ints *ints = &e->ints;
	CLEANUP(freep) int8_t *columns = NULL;
	size_t i, j;

	if (e->shape.dtype != ACCEL_FP8) {
		gemm_fill_ints(e->shape.dtype, n, ints->b, e->power, e->y);
		return 0;
	}
	columns = malloc(n);
	if (!columns)
		return -ENOMEM;
	for (i = 0; i < ints->k; i++) {
		for (j = 0; j < ints->n; j++)
			columns[j * ints->k + i] = ints->b[i * ints->n + j];
	}
	gemm_fill_ints(e->shape.dtype, n, columns, e->power, e->y);
	return 0;
}

static int exact_init(const struct accel_gemm_shape *shape, uint64_t seed, struct exact *ret)
{
	size_t x_n = (size_t)shape->m * shape->k, y_n = (size_t)shape->k * shape->n;
	CLEANUP(exact_release)
	struct exact e = {
		.shape = *shape,
		.power = gemm_power(shape->dtype, seed),
		.x_size = x_n * accel_dtype_size(shape->dtype),
		.y_size = y_n * accel_dtype_size(shape->dtype),
		.out_size = (size_t)shape->m * shape->n * accel_dtype_size(shape->out),
	};
	int r = gemm_ints_new(shape->m, shape->n, shape->k, seed, &e.ints);

	if (r < 0)
		return r;
	e.x = malloc(e.x_size);
	e.y = malloc(e.y_size);
	e.stale = malloc(e.out_size);
	e.result = malloc(e.out_size);
	if (!e.x || !e.y || !e.stale || !e.result)
		return -ENOMEM;
	gemm_fill_ints(shape->dtype, x_n, e.ints.a, e.power, e.x);
	r = fill_second(&e, y_n);
	if (r < 0)
		return r;
	memset(e.stale, 0xff, e.out_size);
	*ret = e;
	e = (struct exact){ 0 };
	return 0;
}

/* Upload the factors and start the product. */
static int start(struct gemm_device *d, struct gemm_job *job, const struct exact *e, struct err *err)
{
	const struct accel_ops *ops = d->plan->ops;
	int r = ops->upload(&job->x, 0, e->x, e->x_size, err);

	if (r == 0)
		r = ops->upload(&job->y, 0, e->y, e->y_size, err);
	if (r == 0)
		r = ops->upload(&job->out, 0, e->stale, e->out_size, err);
	if (r == 0)
		r = ops->gemm_run(job->gemm, d->stream, &job->x, &job->y, &job->out, err);
	return r;
}

/* Wait for the product, download it and verify it. */
static int finish(struct gemm_device *d, struct gemm_job *job, struct exact *e,
		  struct gemm_wrong *ret, struct err *err)
{
	const struct accel_ops *ops = d->plan->ops;
	int r = ops->stream_wait(d->stream, d->plan->deadline_us, err);

	if (r == 0)
		r = ops->download(e->result, &job->out, 0, e->out_size, err);
	if (r < 0)
		return err_wrap(err, r, "%s, exact product", d->info.subject);
	gemm_unscale(e->shape.out, (size_t)e->shape.m * e->shape.n, e->power, e->result);
	r = gemm_verify(&e->ints, e->shape.out, e->result, ret);
	if (r < 0)
		return err_errno(err, -r, "cannot verify the product of %s", d->info.subject);
	d->n_products++;
	return 0;
}

/* Is a factor on the device not what was sent? Then it is memory or link, not arithmetic. */
static bool input_damaged(struct gemm_device *d, struct gemm_job *job, const struct exact *e)
{
	const struct accel_ops *ops = d->plan->ops;
	size_t most = MAX(e->x_size, e->y_size);
	CLEANUP(freep) void *back = malloc(most);

	if (!back)
		return false;
	if (ops->download(back, &job->x, 0, e->x_size, NULL) == 0 &&
	    memcmp(back, e->x, e->x_size) != 0)
		return true;
	return ops->download(back, &job->y, 0, e->y_size, NULL) == 0 &&
	       memcmp(back, e->y, e->y_size) != 0;
}

/* Retry in other memory (the first job holds its own) and another shape: a different path. */
static int try_again(struct gemm_device *d, struct finding *f, struct err *err)
{
	const struct accel_gemm_shape shape = gemm_other_shape(check_shape(d));
	CLEANUP(exact_release) struct exact e = { 0 };
	struct gemm_job job = { 0 };
	unsigned i;
	int r = exact_init(&shape, ~d->plan->seed, &e);

	if (r < 0)
		return err_errno(err, -r, "no memory to retry %s", d->info.subject);
	r = gemm_job_init(d, &shape, &job, err);
	for (i = 0; r == 0 && i < AGAIN_PRODUCTS && !f->again; i++) {
		r = start(d, &job, &e, err);
		if (r == 0)
			r = finish(d, &job, &e, &f->second, err);
		f->again = r == 0 && f->second.count > 0;
	}
	if (f->again)
		f->count += f->second.count;
	if (r == -ETIMEDOUT)
		d->hung = job;
	else
		gemm_job_release(d, &job);
	return r;
}

static void found(struct gemm_device *d, const struct gemm_wrong *wrong, struct exact *e,
		  struct finding *f)
{
	struct err err = ERR_INIT;
	int r;

	f->wrong = *wrong;
	f->count = wrong->count;
	f->product = d->n_products;
	f->input_damaged = input_damaged(d, check_job(d), e);
	r = try_again(d, f, &err);
	if (r < 0 && r != -EINVAL && r != -ENOTSUP && r != -ENOMEM)
		gemm_fail(d, r, &err);
}

static bool takes_part(const struct gemm_device *d, const struct finding *f)
{
	return gemm_live(d) && f->count == 0;
}

/* One product on all devices at once. Devices found wrong do not take part in later rounds. */
static int do_round(struct gemm_run *run, uint64_t seed, struct finding *findings)
{
	CLEANUP(exact_release) struct exact e = { 0 };
	int r = exact_init(check_shape(&run->devices[0]), seed, &e);
	unsigned i;

	if (r < 0)
		return r;
	for (i = 0; i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];
		struct err err = ERR_INIT;

		r = takes_part(d, &findings[i]) ? start(d, check_job(d), &e, &err) : 0;
		if (r < 0)
			gemm_fail(d, r, &err);
	}
	for (i = 0; i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];
		struct gemm_wrong wrong = { 0 };
		struct err err = ERR_INIT;

		if (!takes_part(d, &findings[i]))
			continue;
		r = finish(d, check_job(d), &e, &wrong, &err);
		if (r < 0)
			gemm_fail(d, r, &err);
		else if (wrong.count)
			found(d, &wrong, &e, &findings[i]);
	}
	return 0;
}

static char *words(const struct gemm_device *d, const struct finding *f)
{
	const struct accel_gemm_shape *s = check_shape(d);
	const char *then = f->again ? "wrong again in other memory and with another shape"
				    : "correct in other memory and with another shape";

	return xasprintf(
		"product %llu: row %u, column %u of %ux%u is %.17g instead of %lld, %s%llu "
		"wrong; %s%s",
		(unsigned long long)f->product, f->wrong.row, f->wrong.col, s->m, s->n,
		f->wrong.got, (long long)f->wrong.expected, f->wrong.at_least ? "at least " : "",
		(unsigned long long)f->wrong.count,
		f->input_damaged ? "its input was damaged; " : "", then);
}

/* The methods by which it was found right or wrong. */
static const char *way_of(const struct gemm_device *d, const struct finding *f,
			  const struct gemm_vote *vote)
{
	if (f->count || vote->verdict == GEMM_ABSENT)
		return "exact";
	return d->n_products && vote->verdict == GEMM_RIGHT ? "exact+vote" : "vote";
}

static void set_params(struct sample *s, const struct gemm_device *d, const char *way)
{
	const struct accel_gemm_shape *shape = &d->plan->check_shape;

	if (shape->m)
		(void)json_object_set_new(s->params, "check_shape",
					  json_sprintf("%ux%ux%u", shape->m, shape->n, shape->k));
	(void)json_object_set_new(s->params, "way", json_string(way));
}

static void set_wrong(struct sample *s, const struct gemm_device *d, const struct finding *f)
{
	s->note = words(d, f);
	s->value = (double)f->count;
	s->ok = TRI_NO;
	s->severity = f->again ? SEVERITY_FATAL : SEVERITY_WARN;
	s->code = xstrdup(f->input_damaged ? "wrong-input" : "wrong-product");
}

/* Either of two may be wrong, so this is never fatal. */
static void set_outvoted(struct sample *s, struct gemm_vote *vote)
{
	bool undecided = vote->verdict == GEMM_UNDECIDED;

	s->note = TAKE(vote->words);
	s->with = TAKE(vote->with);
	s->value = (double)vote->elements;
	s->ok = TRI_NO;
	s->severity = vote->again && vote->sure && !undecided ? SEVERITY_FATAL : SEVERITY_WARN;
	s->code = xstrdup(undecided		? "undecided"
			  : vote->input_damaged ? "wrong-input"
						: "wrong-product");
}

static struct sample make_sample(const struct gemm_device *d, const struct finding *f,
				 struct gemm_vote *vote)
{
	struct sample s = gemm_sample(d, "gemm.correct");

	set_params(&s, d, way_of(d, f, vote));
	s.unit = xstrdup("1");
	s.better = BETTER_LOWER;
	s.n = d->n_products + vote->n_runs;
	if (s.state != SAMPLE_MEASURED || (!f->count && d->failed) || !s.n)
		return s;
	if (f->count) {
		set_wrong(&s, d, f);
	} else if (vote->words) {
		set_outvoted(&s, vote);
	} else {
		s.note = TAKE(vote->note);
		s.value = 0;
		s.ok = TRI_YES;
	}
	return s;
}

static int emit_all(struct gemm_run *run, const struct finding *findings, struct gemm_vote *votes,
		    uint64_t start_us)
{
	uint64_t end_us = run->plan->ops->now_us(run->plan->accel);
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < run->n; i++) {
		struct sample s = make_sample(&run->devices[i], &findings[i], &votes[i]);

		gemm_sample_time(&s, run->plan, start_us, end_us);
		r = gemm_emit(run, &s);
	}
	return r;
}

/* Devices known to be wrong have no vote. */
static void vote(struct gemm_run *run, const struct finding *findings, struct gemm_vote *votes)
{
	CLEANUP(freep) bool *takes = xcalloc(run->n, sizeof(*takes));
	unsigned i;

	for (i = 0; i < run->n; i++)
		takes[i] = takes_part(&run->devices[i], &findings[i]);
	gemm_vote(run, takes, votes);
}

static int emit_and_free(struct gemm_run *run, const struct finding *findings, uint64_t start_us)
{
	struct gemm_vote *votes = xcalloc(run->n, sizeof(*votes));
	unsigned i;
	int r;

	vote(run, findings, votes);
	r = emit_all(run, findings, votes, start_us);
	for (i = 0; i < run->n; i++)
		gemm_vote_release(&votes[i]);
	free(votes);
	return r;
}

int gemm_check(struct gemm_run *run)
{
	CLEANUP(freep) struct finding *findings = xcalloc(run->n, sizeof(*findings));
	const struct gemm_plan *plan = run->plan;
	uint64_t start_us = plan->ops->now_us(plan->accel), now_us = start_us, round_us = 0;
	uint64_t end_us = MIN(start_us + plan->check_us, plan->deadline_us);
	unsigned i;
	int r = 0;

	/* Only begin a round that ends in time; otherwise its products would count as late. */
	for (i = 0; r == 0 && i < GEMM_ROUNDS_MAX && (i == 0 || now_us + round_us < end_us); i++) {
		r = do_round(run, plan->seed + i, findings);
		round_us = MAX(round_us, plan->ops->now_us(plan->accel) - now_us);
		now_us = plan->ops->now_us(plan->accel);
	}
	return r < 0 ? r : emit_and_free(run, findings, start_us);
}
