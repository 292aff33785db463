/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/host_gemm.h"

#include <cblas.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/accel/host.h"
#include "probes/accel/host_memory.h"
#include "probes/accel/host_stream.h"

struct accel_gemm {
	const struct host *host;
	struct accel_gemm_shape shape;
	char algorithm[64];
};

void host_blas_init(char *ret_version, size_t size)
{
	/* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..." */
	const char *number = strchr(openblas_get_config(), ' ');

	openblas_set_num_threads(1); /* the streams are the threads */
	number = number ? number + 1 : "";
	(void)snprintf(ret_version, size, "openblas %.*s", (int)strcspn(number, " "), number);
}

static int check_shape(const struct accel_gemm_shape *shape, struct err *err)
{
	if (shape->dtype != ACCEL_F32 && shape->dtype != ACCEL_F64)
		return err_set(err, ENOTSUP, "%s: the CPU engine multiplies only f32 and f64",
			       accel_dtype_names[shape->dtype]);
	if (shape->out != shape->dtype)
		return err_set(err, ENOTSUP, "the CPU engine's output has the type of its input");
	if (!shape->m || !shape->n || !shape->k || shape->m > INT_MAX || shape->n > INT_MAX ||
	    shape->k > INT_MAX)
		return err_set(err, EINVAL, "%u x %u x %u is not a valid shape for a product",
			       shape->m, shape->n, shape->k);
	return 0;
}

int host_gemm_new(struct accel *a, unsigned device, const struct accel_gemm_shape *shape,
		  struct accel_gemm **ret, struct err *err)
{
	const struct host *h = host_of(a);
	struct accel_gemm *g;
	int r;

	if (device >= h->n_cores)
		return err_set(err, ENODEV, "no core %u: this host has %u", device, h->n_cores);
	r = check_shape(shape, err);
	if (r < 0)
		return r;
	g = xcalloc(1, sizeof(*g));
	g->host = h;
	g->shape = *shape;
	(void)snprintf(g->algorithm, sizeof(g->algorithm), "%s %s",
		       shape->dtype == ACCEL_F32 ? "sgemm" : "dgemm", openblas_get_corename());
	*ret = g;
	return 0;
}

void host_gemm_free(struct accel_gemm *g)
{
	if (g && !g->host->stuck)
		free(g); /* otherwise a hung thread may still read it */
}

const char *host_gemm_algorithm(const struct accel_gemm *g)
{
	return g->algorithm;
}

unsigned host_gemm_pieces(const struct accel_gemm *g UNUSED)
{
	return 1;
}

static void run_sgemm(const struct host_work *work)
{
	const struct accel_gemm_shape *shape = work->object;
	int m = (int)shape->m, n = (int)shape->n, k = (int)shape->k;

	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0F, (const void *)work->x,
		    k, (const void *)work->y, n, 0.0F, (void *)work->out, n);
}

static void run_dgemm(const struct host_work *work)
{
	const struct accel_gemm_shape *shape = work->object;
	int m = (int)shape->m, n = (int)shape->n, k = (int)shape->k;

	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0, (const void *)work->x,
		    k, (const void *)work->y, n, 0.0, (void *)work->out, n);
}

int host_gemm_run(struct accel_gemm *g, struct accel_stream *s, const struct accel_region *x,
		  const struct accel_region *y, struct accel_region *out, struct err *err)
{
	const struct accel_gemm_shape *shape = &g->shape;
	size_t size = accel_dtype_size(shape->dtype);
	struct host_work work = {
		.run = shape->dtype == ACCEL_F32 ? run_sgemm : run_dgemm,
		.object = &g->shape,
		.x = x->ptr,
		.y = y->ptr,
		.out = out->ptr,
	};
	int r = host_check_range(x, 0, size * shape->m * shape->k, err);

	if (r == 0)
		r = host_check_range(y, 0, size * shape->k * shape->n, err);
	if (r == 0)
		r = host_check_range(out, 0, size * shape->m * shape->n, err);
	return r < 0 ? r : host_stream_put(s, &work, err);
}
