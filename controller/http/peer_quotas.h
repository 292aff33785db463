/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each address uses of what all share: connections, and bytes of
 * unfinished requests. An IPv4 address is one peer; of IPv6 a /64 is, which
 * is what one site gets (RFC 6177). Pure.
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

/* There are as many as have a connection. */
struct peer_quotas {
	void *tree;
	size_t n;
};

/* One more connection of `address`; NULL when it has `max` of them. */
struct origin *peer_quotas_enter(struct peer_quotas *p, const struct sockaddr *address,
				 unsigned max);

/* One less; `origin` is gone with its last. */
void peer_quotas_leave(struct peer_quotas *p, struct origin *origin);

void peer_quotas_release(struct peer_quotas *p);
