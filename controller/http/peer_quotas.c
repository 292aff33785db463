/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/peer_quotas.h"

#include <netinet/in.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/xalloc.h"

enum { SITE_BYTES = 8 };

static int compare(const void *a, const void *b)
{
	return memcmp(((const struct origin *)a)->address, ((const struct origin *)b)->address,
		      sizeof(((const struct origin *)a)->address));
}

static struct origin key_of(const struct sockaddr *address)
{
	static const uint8_t v4[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	struct origin key = { .connections = 0 };

	if (address->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, address, sizeof(in));
		memcpy(key.address, v4, sizeof(v4));
		memcpy(key.address + sizeof(v4), &in.sin_addr, sizeof(in.sin_addr));
	} else if (address->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, address, sizeof(in6));
		memcpy(key.address, &in6.sin6_addr,
		       IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) ? sizeof(key.address) : SITE_BYTES);
	}
	return key;
}

struct origin *peer_quotas_enter(struct peer_quotas *p, const struct sockaddr *address, unsigned max)
{
	struct origin key = key_of(address);
	struct origin **found = tfind(&key, &p->tree, compare);
	struct origin *origin = found ? *found : NULL;

	if (max == 0 || (origin && origin->connections >= max))
		return NULL;
	if (!origin) {
		origin = xcalloc(1, sizeof(*origin));
		*origin = key;
		if (!tsearch(origin, &p->tree, compare))
			abort(); /* out of memory */
		p->n++;
	}
	origin->connections++;
	return origin;
}

void peer_quotas_leave(struct peer_quotas *p, struct origin *origin)
{
	if (!origin || --origin->connections > 0)
		return;
	(void)tdelete(origin, &p->tree, compare);
	free(origin);
	p->n--;
}

void peer_quotas_release(struct peer_quotas *p)
{
	tdestroy(p->tree, free);
	*p = (struct peer_quotas){ 0 };
}
