/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL as what moves the data: which ports and class it may use, the id of a group, and what goes
 * through a port. Its ring, in its simplest protocol, sends what a ring of verbs sends: 2 (n-1)/n
 * of the buffer. It takes the port that it thinks nearest to the GPU, which is seen by the counters
 * of the port alone.
 */
#pragma once

#include "probes/coll/nccl.h"
#include "probes/rdma/rdma.h"

struct err;
struct pair_side;
struct reduce_session;

/*
 * Tell NCCL, in the environment of this process, which ports there are and what the site says of
 * its fabric, then load it. Errors of nccl_load().
 */
int reduce_nccl_start(const struct pair_side *sides, size_t n, struct nccl_library *ret,
		      struct err *err);

/* The id of a new group, which has this process in it, as text. New memory. Errors of nccl_id_new(). */
int reduce_nccl_id(const struct nccl_library *library, char **ret, struct err *err);

/* Make the group of that id on the rail of the session. Errors of nccl_host_new(); -EINVAL: no id. */
int reduce_nccl_unite(struct reduce_session *s, const char *id, const struct coll_watch *watch,
		      struct err *err);

/* What an operation of `bytes` among `n` sends out of a port, and brings in. */
struct rdma_posted reduce_nccl_moves(uint64_t bytes, unsigned n);
