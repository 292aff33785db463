/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/gid.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#include "lib/base/err.h"

const char *const gid_type_names[] = {
	[RDMA_GID_IB] = "IB",
	[RDMA_GID_ROCE_V1] = "RoCE v1",
	[RDMA_GID_ROCE_V2] = "RoCE v2",
};

/* Scope of an address, in order of preference. */
enum scope { SCOPE_LINK_LOCAL, SCOPE_GLOBAL, SCOPE_IPV4 };

static const char *const scope_words[] = {
	[SCOPE_LINK_LOCAL] = "link-local",
	[SCOPE_GLOBAL] = "global IPv6",
	[SCOPE_IPV4] = "IPv4",
};

/* ::ffff:a.b.c.d is IPv4 (RFC 4291, 2.5.5.2), fe80::/10 link-local (2.5.6). */
static enum scope scope_of(const struct rdma_gid *gid)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (memcmp(gid->raw, mapped, sizeof(mapped)) == 0)
		return SCOPE_IPV4;
	if (gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80)
		return SCOPE_LINK_LOCAL;
	return SCOPE_GLOBAL;
}

bool gid_is_ipv4(const struct rdma_gid *gid)
{
	return scope_of(gid) == SCOPE_IPV4;
}

void gid_format(const struct rdma_gid *gid, char ret_text[static GID_TEXT_SIZE])
{
	bool is_ipv4 = gid_is_ipv4(gid);

	if (!inet_ntop(is_ipv4 ? AF_INET : AF_INET6, gid->raw + (is_ipv4 ? 12 : 0), ret_text,
		       GID_TEXT_SIZE))
		(void)snprintf(ret_text, GID_TEXT_SIZE, "?");
}

static void take(const struct rdma_gid *gid, const char *why, struct gid_choice *ret)
{
	char text[GID_TEXT_SIZE];

	gid_format(gid, text);
	ret->index = (int)gid->index;
	ret->gid = *gid;
	(void)snprintf(ret->reason, sizeof(ret->reason), "index %u, %s %s %s: %s", gid->index,
		       gid_type_names[gid->type], scope_words[scope_of(gid)], text, why);
}

static int choose_wanted(const struct rdma_port *port, const struct rdma_gid *gids, size_t n,
			 int wanted, struct gid_choice *ret, struct err *err)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (gids[i].index != (unsigned)wanted)
			continue;
		take(&gids[i], "as asked for", ret);
		return 0;
	}
	return err_set(err, EADDRNOTAVAIL, "%s port %u has no GID of index %d", port->device,
		       port->number, wanted);
}

static int rank(const struct rdma_gid *gid)
{
	return gid->type * 4 + (int)scope_of(gid);
}

int gid_choose(const struct rdma_port *port, const struct rdma_gid *gids, size_t n, int wanted,
	       struct gid_choice *ret, struct err *err)
{
	const struct rdma_gid *best = NULL;
	size_t i;

	*ret = (struct gid_choice){ .index = -1 };
	if (wanted >= 0)
		return choose_wanted(port, gids, n, wanted, ret, err);
	if (port->layer == RDMA_INFINIBAND && !port->wants_grh) {
		(void)snprintf(ret->reason, sizeof(ret->reason), "none: InfiniBand by LID");
		return 0;
	}
	for (i = 0; i < n; i++) {
		const struct rdma_gid *gid = &gids[i];

		if (!best || rank(gid) > rank(best) ||
		    (rank(gid) == rank(best) && gid->index < best->index))
			best = gid;
	}
	if (!best)
		return err_set(
			err, EADDRNOTAVAIL, "%s port %u has no GID: %s", port->device, port->number,
			port->layer == RDMA_INFINIBAND ? "has the subnet manager seen it?"
						       : "give its network interface an address");
	take(best, n > 1 ? "the best one available" : "the only one", ret);
	return 0;
}
