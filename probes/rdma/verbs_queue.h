/* SPDX-License-Identifier: Apache-2.0 */
/* The libibverbs engine: queue pairs and their state changes. */
#pragma once

struct err;
struct rdma_device;
struct rdma_end;
struct rdma_queue;
struct rdma_queue_options;

int verbs_queue_open(struct rdma_device *d, const struct rdma_queue_options *options,
		     struct rdma_queue **ret, struct err *err);
void verbs_queue_close(struct rdma_queue *q);
void verbs_queue_end(const struct rdma_queue *q, struct rdma_end *ret);
int verbs_queue_connect(struct rdma_queue *q, const struct rdma_end *peer, struct err *err);
