/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/url.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "lib/base/xalloc.h"

static bool is_this_host(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
	if (inet_pton(AF_INET6, host, &v6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&v6);
	return strcasecmp(host, "localhost") == 0;
}

bool url_is_open(const char *base)
{
	CLEANUP(freep) char *authority = NULL; /* RFC 3986, 3.2 */
	CLEANUP(freep) char *name = NULL;
	const char *at, *host;

	if (!starts_with(base, "http://"))
		return false;
	base += strlen("http://");
	authority = xstrndup(base, strcspn(base, "/?#"));
	at = strrchr(authority, '@'); /* a user may precede it, in any form */
	host = at ? at + 1 : authority;
	name = host[0] == '[' ? xstrndup(host + 1, strcspn(host + 1, "]"))
			      : xstrndup(host, strcspn(host, ":"));
	return !is_this_host(name);
}
