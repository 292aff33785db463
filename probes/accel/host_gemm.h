/* SPDX-License-Identifier: Apache-2.0 */
/* Products of the CPU engine; the only file that uses the BLAS. */
#pragma once

#include <stddef.h>

struct accel;
struct accel_gemm;
struct accel_gemm_shape;
struct accel_region;
struct accel_stream;
struct err;

int host_gemm_new(struct accel *a, unsigned device, const struct accel_gemm_shape *shape,
		  struct accel_gemm **ret, struct err *err);
void host_gemm_free(struct accel_gemm *g);
const char *host_gemm_algorithm(const struct accel_gemm *g);
unsigned host_gemm_pieces(const struct accel_gemm *g);
int host_gemm_run(struct accel_gemm *g, struct accel_stream *s, const struct accel_region *x,
		  const struct accel_region *y, struct accel_region *out, struct err *err);
/* Make the BLAS use one thread per call; writes "openblas 0.3.21". */
void host_blas_init(char *ret_version, size_t size);
