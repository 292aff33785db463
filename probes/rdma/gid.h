/* SPDX-License-Identifier: Apache-2.0 */
/* Which of its addresses a port speaks from. Pure. */
#pragma once

#include "probes/rdma/rdma.h"

enum { GID_REASON_SIZE = 160, GID_TEXT_SIZE = 48 };

struct gid_choice {
	int index; /* -1: none is needed */
	struct rdma_gid gid;
	char reason[GID_REASON_SIZE]; /* why this one, in words */
};

/*
 * On Ethernet: RoCE v2 before v1; of those an IPv4 address before a global IPv6
 * one before a link-local one, as perftest and NCCL prefer them; the lowest
 * index among equals. `wanted` >= 0 asks for that index. On InfiniBand within a
 * subnet none is needed, unless the port wants it (GRH required, as that of a virtual function).
 * -EADDRNOTAVAIL with the reason when there is none.
 */
int gid_choose(const struct rdma_port *port, const struct rdma_gid *gids, size_t n, int wanted,
	       struct gid_choice *ret, struct err *err);

/* Does it stand for an IPv4 address? */
bool gid_is_ipv4(const struct rdma_gid *gid);

/* "10.0.0.1", "fe80::1". */
void gid_format(const struct rdma_gid *gid, char ret_text[static GID_TEXT_SIZE]);

extern const char *const gid_type_names[]; /* "IB", "RoCE v1", "RoCE v2" */
