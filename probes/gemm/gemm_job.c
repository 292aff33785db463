/* SPDX-License-Identifier: Apache-2.0 */
/* One product on one device: its memory, its factors. */
#include <errno.h>
#include <stdlib.h>

#include "probes/gemm/gemm.h"

static size_t matrix_bytes(enum accel_dtype dtype, unsigned rows, unsigned columns)
{
	return accel_dtype_size(dtype) * rows * columns;
}

struct gemm_sizes gemm_sizes(const struct accel_gemm_shape *s)
{
	return (struct gemm_sizes){
		.x = matrix_bytes(s->dtype, s->m, s->k),
		.y = matrix_bytes(s->dtype, s->k, s->n),
		.out = matrix_bytes(s->out, s->m, s->n),
	};
}

static unsigned three_quarters(unsigned n)
{
	return n - n / 4;
}

struct accel_gemm_shape gemm_other_shape(const struct accel_gemm_shape *shape)
{
	struct accel_gemm_shape other = *shape;

	other.m = three_quarters(shape->m);
	other.n = three_quarters(shape->n);
	other.k = three_quarters(shape->k);
	return other;
}

void gemm_job_release(struct gemm_device *d, struct gemm_job *job)
{
	const struct accel_ops *ops = d->plan->ops;

	ops->gemm_free(job->gemm);
	if (job->x.ptr)
		ops->region_free(&job->x);
	if (job->y.ptr)
		ops->region_free(&job->y);
	if (job->out.ptr)
		ops->region_free(&job->out);
	*job = (struct gemm_job){ 0 };
}

int gemm_job_init(struct gemm_device *d, const struct accel_gemm_shape *shape, struct gemm_job *ret,
		  struct err *err)
{
	const struct accel_ops *ops = d->plan->ops;
	struct accel *a = d->plan->accel;
	const struct gemm_sizes sizes = gemm_sizes(shape);
	struct gemm_job job = { 0 };
	struct {
		struct accel_region *region;
		size_t size;
	} regions[] = {
		{ &job.x, sizes.x },
		{ &job.y, sizes.y },
		{ &job.out, sizes.out },
	};
	size_t i;
	int r = ops->gemm_new(a, d->index, shape, &job.gemm, err);

	for (i = 0; r == 0 && i < ARRAY_SIZE(regions); i++) {
		struct accel_memory memory = { ACCEL_DEVICE, -1, regions[i].size };

		r = ops->region_new(a, d->index, &memory, regions[i].region, err);
	}
	if (r < 0)
		gemm_job_release(d, &job);
	else
		*ret = job;
	return r;
}

int gemm_factors_init(const struct accel_gemm_shape *shape, uint64_t seed, struct gemm_factors *ret,
		      struct err *err)
{
	const struct gemm_sizes sizes = gemm_sizes(shape);
	struct gemm_factors f = { .x_size = sizes.x, .y_size = sizes.y };

	f.x = malloc(f.x_size);
	f.y = malloc(f.y_size);
	if (!f.x || !f.y) {
		gemm_factors_release(&f);
		return err_set(err, ENOMEM, "no memory for matrices of %zu and %zu bytes", sizes.x,
			       sizes.y);
	}
	gemm_fill_random(shape->dtype, (size_t)shape->m * shape->k, seed, f.x);
	gemm_fill_random(shape->dtype, (size_t)shape->k * shape->n, ~seed, f.y);
	*ret = f;
	return 0;
}

void gemm_factors_release(struct gemm_factors *f)
{
	free(f->x);
	free(f->y);
	*f = (struct gemm_factors){ 0 };
}

int gemm_factors_upload(struct gemm_device *d, const struct gemm_factors *f, struct gemm_job *job,
			struct err *err)
{
	const struct accel_ops *ops = d->plan->ops;
	int r = ops->upload(&job->x, 0, f->x, f->x_size, err);

	return r < 0 ? r : ops->upload(&job->y, 0, f->y, f->y_size, err);
}
