/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers accelerator memory with an RDMA device: as a dmabuf of the accelerator's driver if
 * possible (ibv_reg_dmabuf_mr(3): Linux 5.12, CUDA 11.7), otherwise by address, which needs a peer
 * memory kernel module (nvidia-peermem). Values are comparable only if measured the same way.
 */
#pragma once

#include "probes/rdma/rdma.h"

struct accel_region;

/* How the memory was registered, and why that way. Equal ways have equal strings. */
struct region_way {
	const char *how; /* "dmabuf", "peermem" */
	const char *why;
};

/*
 * Register `memory`, which must outlive the region. `ret_way` is unchanged on failure. -EOPNOTSUPP
 * if neither way works, with the reason for each; any other negative errno as ops->region_add().
 */
int region_add_accel(const struct rdma_ops *ops, struct rdma_device *d, struct accel_region *memory,
		     struct rdma_region *ret, struct region_way *ret_way, struct err *err);
