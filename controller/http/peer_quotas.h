/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Use of shared resources by each address: connections, and bytes of unfinished requests. Each IPv4
 * address is a peer; for IPv6 it is a /64, which is what one site gets (RFC 6177). Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct sockaddr;

struct origin {
	uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d; the lower half of IPv6 is 0 */
	unsigned connections;
	size_t body_bytes;
};

/* Contains the peers with a connection. */
struct peer_quotas {
	void *tree;
	size_t n;
};

/* Add a connection of `address`. Returns NULL if it has `max` of them. */
struct origin *peer_quotas_enter(struct peer_quotas *p, const struct sockaddr *address,
				 unsigned max);

/* Remove a connection; `origin` is freed with its last one. */
void peer_quotas_leave(struct peer_quotas *p, struct origin *origin);

void peer_quotas_release(struct peer_quotas *p);
