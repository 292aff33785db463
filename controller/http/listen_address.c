/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/listen_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/macro.h"
#include "lib/base/xalloc.h"

enum { PORT_MAX = 65535, PORT_DIGITS_MAX = 5, LOOPBACK_NET = 127 };

static bool read_port(const char *text, in_port_t *ret)
{
	const size_t length = strlen(text);
	unsigned long port;

	if (length == 0 || length > PORT_DIGITS_MAX || strspn(text, "0123456789") != length)
		return false;
	port = strtoul(text, NULL, 10);
	if (port > PORT_MAX)
		return false;
	*ret = htons((in_port_t)port);
	return true;
}

/* With an optional scope of an IPv6 address, fe80::1%eth0. */
static bool read_host(const char *host, in_port_t port, struct listen_address *out)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICHOST };
	struct addrinfo *where = NULL;

	if (getaddrinfo(host, NULL, &hints, &where) != 0)
		return false;
	*out = (struct listen_address){ .length = where->ai_addrlen };
	memcpy(&out->storage, where->ai_addr, where->ai_addrlen);
	freeaddrinfo(where);
	if (out->storage.ss_family == AF_INET)
		((struct sockaddr_in *)&out->storage)->sin_port = port;
	else
		((struct sockaddr_in6 *)&out->storage)->sin6_port = port;
	return true;
}

int listen_address_read(const char *text, struct listen_address *ret, struct err *err)
{
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;
	const bool bracketed = length >= 2 && text[0] == '[' && text[length - 1] == ']';
	CLEANUP(freep) char *host = xstrndup(text + bracketed, length - 2 * (size_t)bracketed);
	struct listen_address out;
	in_port_t port;

	if (!colon || !read_port(colon + 1, &port) || !read_host(host, port, &out))
		return err_set(err, EINVAL,
			       "'%.80s' is not ADDR:PORT, such as 127.0.0.1:9470 or [::]:9470: "
			       "expected a numeric address and a port from 0 to %d",
			       text, PORT_MAX);
	*ret = out;
	return 0;
}

bool listen_address_is_loopback(const struct listen_address *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;

	if (address->storage.ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == LOOPBACK_NET;
	return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}
