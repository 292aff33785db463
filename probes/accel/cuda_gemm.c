/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/cuda_gemm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/accel/cuda_context.h"
#include "probes/accel/cuda_memory.h"
#include "probes/accel/cuda_stream.h"

/* A type of the factors in terms of cuBLASLt. */
struct kind {
	unsigned type, compute, scale;
	int capability_min; /* 10 major + minor */
};

static const struct kind kinds[] = {
	[ACCEL_F32] = { LT_R_32F, LT_COMPUTE_32F, LT_R_32F, 0 },
	[ACCEL_F64] = { LT_R_64F, LT_COMPUTE_64F, LT_R_64F, 0 },
	[ACCEL_BF16] = { LT_R_16BF, LT_COMPUTE_32F, LT_R_32F, 80 },
	[ACCEL_TF32] = { LT_R_32F, LT_COMPUTE_32F_FAST_TF32, LT_R_32F, 80 },
	[ACCEL_FP8] = { LT_R_8F_E4M3, LT_COMPUTE_32F, LT_R_32F, 89 },
};

struct accel_gemm {
	struct cuda *cuda;
	unsigned device;
	struct accel_gemm_shape shape;
	lt_desc desc;
	lt_layout first, second, out; /* B', A', D' */
	lt_algo algo;
	unsigned kernels; /* per product, at most */
	struct accel_region workspace;
	char algorithm[96];
};

/* Convert the library's result to 0 or an error with a message, like cuda_check(). */
static int lt_check(struct cuda *c, unsigned device, unsigned status, const char *what,
		    struct err *err)
{
	static const struct {
		unsigned status;
		int code;
		const char *words;
	} meanings[] = {
		{ LT_NOT_INITIALIZED, EIO, "not initialized" },
		{ LT_ALLOC_FAILED, ENOMEM, "out of memory" },
		{ LT_INVALID_VALUE, ENOTSUP, "not supported with these values" },
		{ LT_ARCH_MISMATCH, ENOTSUP, "not on this GPU" },
		{ LT_EXECUTION_FAILED, EIO, "execution failed" },
		{ LT_INTERNAL_ERROR, EIO, "internal error" },
		{ LT_NOT_SUPPORTED, ENOTSUP, "not supported" },
	};
	const char *subject = c->devices[device].info.subject;
	size_t i;

	if (status == LT_OK)
		return 0;
	for (i = 0; i < ARRAY_SIZE(meanings); i++) {
		if (meanings[i].status == status)
			return err_set(err, meanings[i].code, "%s: %s: cuBLASLt: %s", subject, what,
				       meanings[i].words);
	}
	return err_set(err, EPROTO, "%s: %s: cuBLASLt: error %u", subject, what, status);
}

static int check_shape(const struct cuda_device *d, const struct accel_gemm_shape *s,
		       struct err *err)
{
	bool wide = s->out == ACCEL_F32 || s->out == s->dtype;
	bool narrow = s->out == ACCEL_BF16 && s->dtype == ACCEL_FP8;

	if (10 * d->major + d->minor < kinds[s->dtype].capability_min)
		return err_set(err, ENOTSUP, "%s: a GPU of compute capability %d.%d has no %s",
			       d->info.subject, d->major, d->minor, accel_dtype_names[s->dtype]);
	if (s->dtype == ACCEL_F64
		    ? s->out != ACCEL_F64
		    : (!wide && !narrow) || s->out == ACCEL_FP8 || s->out == ACCEL_TF32)
		return err_set(err, ENOTSUP, "no product of %s that yields %s",
			       accel_dtype_names[s->dtype], accel_dtype_names[s->out]);
	if (!s->m || !s->n || !s->k)
		return err_set(err, EINVAL, "%u x %u x %u is not a valid shape for a product", s->m,
			       s->n, s->k);
	return 0;
}

static int make_handle(struct cuda *c, unsigned device, struct err *err)
{
	struct cuda_device *d = &c->devices[device];
	int r = cuda_enter(c, device, err);

	if (r < 0 || d->lt)
		return r;
	return lt_check(c, device, c->libs.lt.create(&d->lt), "cannot start", err);
}

/* Describe the product to the library. */
static int describe(struct accel_gemm *g, struct err *err)
{
	const struct accel_gemm_shape *s = &g->shape;
	const struct kind *kind = &kinds[s->dtype];
	const struct cuda_lt *lt = &g->cuda->libs.lt;
	bool by_columns = s->dtype == ACCEL_FP8; /* for B: see accel.h */
	int32_t operation = by_columns ? LT_OP_T : LT_OP_N;
	unsigned rows = by_columns ? s->k : s->n, columns = by_columns ? s->n : s->k;
	unsigned status = lt->desc_create(&g->desc, kind->compute, kind->scale);

	if (status == LT_OK)
		status = lt->desc_set(g->desc, LT_DESC_TRANSA, &operation, sizeof(operation));
	if (status == LT_OK)
		status = lt->layout_create(&g->first, kind->type, rows, columns, rows);
	if (status == LT_OK)
		status = lt->layout_create(&g->second, kind->type, s->k, s->m, s->k);
	if (status == LT_OK)
		status = lt->layout_create(&g->out, kinds[s->out].type, s->n, s->m, s->n);
	return lt_check(g->cuda, g->device, status, "cannot describe a product", err);
}

/* "id 66 tile 20 stages 35 split-k 1 ...": everything that identifies the algorithm. */
static void write_algorithm(struct accel_gemm *g)
{
	static const struct {
		const char *name;
		unsigned attribute;
		size_t size;
	} parts[] = {
		{ "id", LT_CONFIG_ID, 4 },
		{ "tile", LT_CONFIG_TILE, 4 },
		{ "stages", LT_CONFIG_STAGES, 4 },
		{ "split-k", LT_CONFIG_SPLIT_K, 4 },
		{ "reduce", LT_CONFIG_REDUCTION, 4 },
		{ "swizzle", LT_CONFIG_SWIZZLE, 4 },
		{ "custom", LT_CONFIG_CUSTOM, 4 },
		{ "inner", LT_CONFIG_INNER, 2 },
		{ "cluster", LT_CONFIG_CLUSTER, 2 },
	};
	size_t i, used = 0, written;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		uint32_t value = 0;
		int n;

		/* Attributes unknown to an older library are left out. */
		if (g->cuda->libs.lt.config(&g->algo, parts[i].attribute, &value, parts[i].size,
					    &written) != LT_OK)
			continue;
		n = snprintf(g->algorithm + used, sizeof(g->algorithm) - used, "%s%s %u",
			     used ? " " : "", parts[i].name, value);
		used = MIN(used + (n > 0 ? (size_t)n : 0), sizeof(g->algorithm) - 1);
	}
}

static bool config_is(const struct accel_gemm *g, unsigned attribute, uint32_t most)
{
	uint32_t value = 0;
	size_t written;

	return g->cuda->libs.lt.config(&g->algo, attribute, &value, sizeof(value), &written) ==
		       LT_OK &&
	       value <= most;
}

/*
 * One kernel if the sums are not split and no workspace is used. Split sums
 * (CUBLASLT_ALGO_CONFIG_SPLITK_NUM) are cleared, computed and added up. The library does not say
 * whether an algorithm is stream-K, but that needs a workspace for data shared between blocks.
 */
static unsigned count_kernels(const struct accel_gemm *g, size_t workspace_bytes)
{
	const bool whole = config_is(g, LT_CONFIG_SPLIT_K, 1) &&
			   config_is(g, LT_CONFIG_REDUCTION, LT_REDUCTION_NONE);

	return whole && workspace_bytes == 0 ? 1 : CUDA_PRODUCT_KERNELS_MAX;
}

static int pin_algorithm(struct accel_gemm *g, struct err *err)
{
	const struct cuda_lt *lt = &g->cuda->libs.lt;
	uint64_t workspace = CUDA_WORKSPACE_BYTES;
	lt_preference preference = NULL;
	lt_heuristic best = { 0 };
	unsigned status = lt->preference_create(&preference);
	int n = 0;

	if (status == LT_OK)
		status = lt->preference_set(preference, LT_PREF_MAX_WORKSPACE, &workspace,
					    sizeof(workspace));
	if (status == LT_OK)
		status = lt->heuristic(g->cuda->devices[g->device].lt, g->desc, g->first, g->second,
				       g->out, g->out, preference, 1, &best, &n);
	if (preference)
		(void)lt->preference_destroy(preference);
	if (status == LT_OK)
		status = n < 1 ? (unsigned)LT_NOT_SUPPORTED : best.state;
	if (status != LT_OK)
		return lt_check(g->cuda, g->device, status, "no algorithm for this product", err);
	g->algo = best.algo;
	g->kernels = count_kernels(g, best.workspace_bytes);
	write_algorithm(g);
	return 0;
}

int cuda_gemm_new(struct accel *a, unsigned device, const struct accel_gemm_shape *shape,
		  struct accel_gemm **ret, struct err *err)
{
	struct accel_memory workspace = { ACCEL_DEVICE, -1, CUDA_WORKSPACE_BYTES };
	struct cuda *c = cuda_of(a);
	struct accel_gemm *g;
	int r;

	if (device >= c->n_devices)
		return err_set(err, ENODEV, "no GPU %u: this host has %u", device, c->n_devices);
	if (!c->libs.lt.create)
		return err_set(err, ENOTSUP, "this engine was opened to copy only");
	r = check_shape(&c->devices[device], shape, err);
	if (r == 0)
		r = make_handle(c, device, err);
	if (r < 0)
		return r;
	g = xcalloc(1, sizeof(*g));
	g->cuda = c;
	g->device = device;
	g->shape = *shape;
	r = describe(g, err);
	if (r == 0)
		r = pin_algorithm(g, err);
	if (r == 0)
		r = cuda_region_new(a, device, &workspace, &g->workspace, err);
	if (r < 0)
		cuda_gemm_free(g);
	else
		*ret = g;
	return r;
}

void cuda_gemm_free(struct accel_gemm *g)
{
	const struct cuda_lt *lt;

	if (!g)
		return;
	lt = &g->cuda->libs.lt;
	cuda_region_free(&g->workspace);
	if (g->desc)
		(void)lt->desc_destroy(g->desc);
	if (g->first)
		(void)lt->layout_destroy(g->first);
	if (g->second)
		(void)lt->layout_destroy(g->second);
	if (g->out)
		(void)lt->layout_destroy(g->out);
	free(g);
}

const char *cuda_gemm_algorithm(const struct accel_gemm *g)
{
	return g->algorithm;
}

unsigned cuda_gemm_pieces(const struct accel_gemm *g)
{
	return g->kernels;
}

static int check_sizes(const struct accel_gemm_shape *s, const struct accel_region *x,
		       const struct accel_region *y, const struct accel_region *out, struct err *err)
{
	size_t size = accel_dtype_size(s->dtype);

	if (x->size < size * s->m * s->k || y->size < size * s->k * s->n ||
	    out->size < accel_dtype_size(s->out) * s->m * s->n)
		return err_set(err, ERANGE, "a region is too small for %u x %u x %u", s->m, s->n,
			       s->k);
	return 0;
}

int cuda_gemm_run(struct accel_gemm *g, struct accel_stream *s, const struct accel_region *x,
		  const struct accel_region *y, struct accel_region *out, struct err *err)
{
	static const struct {
		double f64[2];
		float f32[2];
	} scales = { .f64 = { 1, 0 }, .f32 = { 1, 0 } };
	bool wide = kinds[g->shape.dtype].scale == LT_R_64F;
	const void *alpha = wide ? (const void *)&scales.f64[0] : &scales.f32[0];
	const void *beta = wide ? (const void *)&scales.f64[1] : &scales.f32[1];
	struct cuda *c = g->cuda;
	unsigned status, failed;
	int r = check_sizes(&g->shape, x, y, out, err);

	if (r == 0)
		r = cuda_stream_enter(s, g->kernels, err);
	if (r < 0)
		return r;
	status = c->libs.lt.matmul(c->devices[g->device].lt, g->desc, alpha, y->ptr, g->first,
				   x->ptr, g->second, beta, out->ptr, g->out, out->ptr, g->out,
				   &g->algo, g->workspace.ptr, CUDA_WORKSPACE_BYTES, s->handle);
	/* The driver knows the reason better: a failed GPU returns it for every call. */
	failed = status == LT_OK ? (unsigned)CUDA_OK : c->libs.driver.stream_query(s->handle);
	if (failed != CUDA_OK && failed != CUDA_NOT_READY)
		return cuda_check(c, g->device, failed, "cannot multiply", err);
	return lt_check(c, g->device, status, "cannot multiply", err);
}
