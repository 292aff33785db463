/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/ras_endpoint.h"

#include <arpa/inet.h>
#include <stdlib.h>

enum { HOST_SIZE = 48, PORT_DIGITS = 5, PORT_MAX = 65535, DECIMAL = 10 };

static bool parse_port(const char *text, in_port_t *ret)
{
	const size_t digits = strspn(text, "0123456789");
	const unsigned long port = strtoul(text, NULL, DECIMAL);

	if (digits == 0 || digits > PORT_DIGITS || text[digits] || port == 0 || port > PORT_MAX)
		return false;
	*ret = htons((in_port_t)port);
	return true;
}

bool ras_endpoint_parse(const char *text, struct sockaddr_storage *ret, socklen_t *ret_size)
{
	const bool six = text[0] == '[';
	const char *end = strrchr(text, ':');
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in a4 = { .sin_family = AF_INET };
	char host[HOST_SIZE] = "";
	size_t n;

	if (!end || (six && (end - text < 2 || end[-1] != ']')))
		return false;
	n = (size_t)(end - text) - (six ? 2 : 0);
	if (n >= sizeof(host))
		return false;
	memcpy(host, text + six, n);
	*ret = (struct sockaddr_storage){ 0 };
	if (six) {
		if (inet_pton(AF_INET6, host, &a6.sin6_addr) != 1 ||
		    !parse_port(end + 1, &a6.sin6_port))
			return false;
		memcpy(ret, &a6, sizeof(a6));
		*ret_size = sizeof(a6);
	} else {
		if (inet_pton(AF_INET, host, &a4.sin_addr) != 1 ||
		    !parse_port(end + 1, &a4.sin_port))
			return false;
		memcpy(ret, &a4, sizeof(a4));
		*ret_size = sizeof(a4);
	}
	return true;
}
