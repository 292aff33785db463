/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the GID of a port. Pure. */
#pragma once

#include "probes/rdma/rdma.h"

enum { GID_REASON_SIZE = 160, GID_TEXT_SIZE = 48 };

struct gid_choice {
	int index; /* -1: none needed */
	struct rdma_gid gid;
	char reason[GID_REASON_SIZE]; /* why this GID, for people */
};

/*
 * On Ethernet: RoCE v2 before v1, then IPv4 before global IPv6 before link-local addresses, as
 * perftest and NCCL prefer them, then the lowest index. `wanted` >= 0 asks for that index. On
 * InfiniBand within a subnet no GID is needed unless the port requires a GRH, as that of a virtual
 * function does. Returns -EADDRNOTAVAIL with the reason if there is no suitable GID.
 */
int gid_choose(const struct rdma_port *port, const struct rdma_gid *gids, size_t n, int wanted,
	       struct gid_choice *ret, struct err *err);

/* Is it an IPv4-mapped address? */
bool gid_is_ipv4(const struct rdma_gid *gid);

/* "10.0.0.1", "fe80::1". */
void gid_format(const struct rdma_gid *gid, char ret_text[static GID_TEXT_SIZE]);

extern const char *const gid_type_names[]; /* "IB", "RoCE v1", "RoCE v2" */
