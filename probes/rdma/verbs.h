/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the libibverbs engine. */
#pragma once

#include <infiniband/verbs.h>

#include "probes/rdma/rdma.h"

struct rdma_device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	char name[RDMA_NAME_SIZE];
	uint8_t reads_in, reads_out; /* outstanding reads per queue, as target and as initiator */
};

/* A completion queue and its channel, for one queue or for several that share it. */
struct verbs_completions {
	struct ibv_comp_channel *channel; /* NULL without events */
	struct ibv_cq *cq;
	bool armed;	  /* the next completion produces an event */
	unsigned unacked; /* events taken from the channel but not yet acknowledged */
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

/* Memory registration. */
int verbs_region_add(struct rdma_device *d, void *at, uint64_t bytes, struct rdma_region *ret,
		     struct err *err);
int verbs_region_add_dmabuf(struct rdma_device *d, const struct rdma_dmabuf *memory,
			    struct rdma_region *ret, struct err *err);
void verbs_region_remove(struct rdma_region *r);

/*
 * Set "DEVICE: what: why" for an errno; returns -code. ENOMEM nearly always means RLIMIT_MEMLOCK.
 */
int verbs_error(struct err *err, int code, const struct rdma_device *d, const char *what);

/* Converts an enum ibv_mtu to bytes and back; 0 if invalid. */
unsigned verbs_mtu_bytes(enum ibv_mtu mtu);
enum ibv_mtu verbs_mtu_of(unsigned bytes);
