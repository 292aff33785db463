/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_engines.h"

const struct accel_ops *const gemm_engines[] = { &accel_host_ops, &accel_cuda_ops, NULL };
