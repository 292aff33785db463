/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL as the engine: which ports and service class it may use, group ids, and what goes through a
 * port. Its ring in the simple protocol sends as much as a ring of verbs: 2 (n-1)/n of the buffer.
 * It chooses the port that it considers nearest to the GPU; only the port's counters show which.
 */
#pragma once

#include "probes/coll/nccl.h"
#include "probes/rdma/rdma.h"

struct err;
struct pair_side;
struct reduce_session;

/*
 * Tell NCCL the ports, and the settings of the site's fabric, through the environment of this
 * process; then load it. Errors of nccl_load().
 */
int reduce_nccl_start(const struct pair_side *sides, size_t n, struct nccl_library *ret,
		      struct err *err);

/*
 * The id of a new group, of which this process is a rank, as text. The caller frees it. Errors of
 * nccl_id_new().
 */
int reduce_nccl_id(const struct nccl_library *library, char **ret, struct err *err);

/* Make the group of that id on the session's rail. Errors of nccl_host_new(); -EINVAL: bad id. */
int reduce_nccl_unite(struct reduce_session *s, const char *id, const struct coll_watch *watch,
		      struct err *err);

/* What an operation of `bytes` among `n` ranks sends through a port, and receives. */
struct rdma_posted reduce_nccl_moves(uint64_t bytes, unsigned n);
