/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engines of this build, NULL-terminated: gemm_engines.c, or gemm_engines_gpu.c without a BLAS.
 */
#pragma once

#include "probes/accel/accel.h"

extern const struct accel_ops *const gemm_engines[];
