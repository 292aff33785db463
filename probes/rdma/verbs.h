/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the libibverbs engine share. */
#pragma once

#include <infiniband/verbs.h>

#include "probes/rdma/rdma.h"

struct rdma_device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	char name[RDMA_NAME_SIZE];
	uint8_t reads_in, reads_out; /* outstanding reads of a queue: from the other side, to it */
};

/* Where completions arrive: of one queue, or of several that share. */
struct verbs_completions {
	struct ibv_comp_channel *channel; /* NULL without events */
	struct ibv_cq *cq;
	bool armed;	  /* the next completion makes an event */
	unsigned unacked; /* events taken from the channel and not yet acknowledged */
	unsigned users;
};

struct rdma_queue {
	struct rdma_device *device;
	struct rdma_queue_options options;
	struct verbs_completions *done;
	struct ibv_qp *qp;
	struct ibv_port_attr port;
	union ibv_gid gid;
	uint16_t pkey, pkey_index;
	uint32_t psn;
	struct rdma_posted posted;
};

/* memory that a device may read and write */
int verbs_region_add(struct rdma_device *d, void *at, uint64_t bytes, struct rdma_region *ret,
		     struct err *err);
int verbs_region_add_dmabuf(struct rdma_device *d, const struct rdma_dmabuf *memory,
			    struct rdma_region *ret, struct err *err);
void verbs_region_remove(struct rdma_region *r);

/* "DEVICE: what: why" for an errno; -code. Out of memory is nearly always its limit. */
int verbs_error(struct err *err, int code, const struct rdma_device *d, const char *what);

/* Bytes of an enum ibv_mtu and back; 0 for none. */
unsigned verbs_mtu_bytes(enum ibv_mtu mtu);
enum ibv_mtu verbs_mtu_of(unsigned bytes);
