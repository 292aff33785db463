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

/* verbs_queue.c and verbs_post.c: rows of the table in verbs.c. */
int verbs_queue_open(struct rdma_device *d, const struct rdma_queue_options *options,
		     struct rdma_queue **ret, struct err *err);
void verbs_queue_close(struct rdma_queue *q);
void verbs_queue_end(const struct rdma_queue *q, struct rdma_end *ret);
int verbs_queue_connect(struct rdma_queue *q, const struct rdma_end *peer, struct err *err);
int verbs_post(struct rdma_queue *q, const struct rdma_work *work, size_t n, struct err *err);
struct rdma_posted verbs_posted(const struct rdma_queue *q);
int verbs_receive(struct rdma_queue *q, const struct rdma_receive *receives, size_t n,
		  struct err *err);
int verbs_poll(struct rdma_queue *q, struct rdma_done *ret, size_t max, struct err *err);
int verbs_wait(struct rdma_queue *q, uint64_t deadline_us, struct err *err);
int verbs_wait_any(struct rdma_queue *const *queues, size_t n, uint64_t deadline_us,
		   uint64_t *ret_ready, struct err *err);

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
