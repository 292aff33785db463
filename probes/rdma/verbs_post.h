/* SPDX-License-Identifier: Apache-2.0 */
/* The libibverbs engine: posting work and collecting completions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "probes/rdma/rdma.h"

struct err;
struct rdma_queue;

int verbs_post(struct rdma_queue *q, const struct rdma_work *work, size_t n, struct err *err);
struct rdma_posted verbs_posted(const struct rdma_queue *q);
int verbs_receive(struct rdma_queue *q, const struct rdma_receive *receives, size_t n,
		  struct err *err);
int verbs_poll(struct rdma_queue *q, struct rdma_done *ret, size_t max, struct err *err);
int verbs_wait(struct rdma_queue *q, uint64_t deadline_us, struct err *err);
int verbs_wait_any(struct rdma_queue *const *queues, size_t n, uint64_t deadline_us,
		   uint64_t *ret_ready, struct err *err);
