/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of an accelerator as a region of an RDMA device. First as a dmabuf of
 * the accelerator's driver (ibv_reg_dmabuf_mr(3): Linux 5.12, CUDA 11.7), else
 * by its address, which takes a kernel module that knows whose it is
 * (nvidia-peermem). Which way it went must be equal for values to be compared.
 */
#pragma once

#include "probes/rdma/rdma.h"

struct accel_region;

/* Which way the memory is reached, and why that one; words that are equal for equal ways. */
struct region_way {
	const char *how; /* "dmabuf", "peermem" */
	const char *why;
};

/*
 * Register `memory`, which must outlive the region; `ret_way` is left alone on
 * failure. -EOPNOTSUPP with the reason of each way when there is none; any other
 * negative errno as ops->region_add().
 */
int region_add_accel(const struct rdma_ops *ops, struct rdma_device *d, struct accel_region *memory,
		     struct rdma_region *ret, struct region_way *ret_way, struct err *err);
