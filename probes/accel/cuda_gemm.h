/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with cuBLASLt. It stores matrices by columns, we store them by rows, and a matrix read
 * by columns is its own transpose. So the product requested is D' = B' A' (n x m), with B first.
 *
 * The algorithm is the first choice of the library's heuristic for this shape on this GPU, queried
 * once and then fixed. It is the same on all GPUs of a model with one version of the library, so it
 * is comparable between hosts.
 */
#pragma once

struct accel;
struct accel_gemm;
struct accel_gemm_shape;
struct accel_region;
struct accel_stream;
struct err;

int cuda_gemm_new(struct accel *a, unsigned device, const struct accel_gemm_shape *shape,
		  struct accel_gemm **ret, struct err *err);
void cuda_gemm_free(struct accel_gemm *g);
const char *cuda_gemm_algorithm(const struct accel_gemm *g);
unsigned cuda_gemm_pieces(const struct accel_gemm *g);
int cuda_gemm_run(struct accel_gemm *g, struct accel_stream *s, const struct accel_region *x,
		  const struct accel_region *y, struct accel_region *out, struct err *err);
