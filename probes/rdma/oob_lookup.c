/* SPDX-License-Identifier: Apache-2.0 */
/*
 * getaddrinfo(3) has no deadline. With an unreachable name server it takes attempts x timeout
 * (resolv.conf(5)) per server: 10 s by default, 90 s at worst. So a name is looked up in a thread
 * that may be left behind, as curl does.
 */
#include "probes/rdma/oob_lookup.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/watched.h"

/* The C library silently truncates 70000 to 4464. */
static bool is_port(const char *text)
{
	char *end;
	const unsigned long port = strtoul(text, &end, 10);

	return isdigit((unsigned char)text[0]) && !*end && port <= UINT16_MAX;
}

/* Split "HOST:PORT" or "[ADDRESS]:PORT". */
static int split(const char *address, char host[static OOB_HOST_SIZE],
		 char port[static OOB_PORT_SIZE])
{
	const char *colon = strrchr(address, ':');
	size_t length = colon ? (size_t)(colon - address) : 0;

	if (!colon || length == 0 || strlen(colon + 1) >= OOB_PORT_SIZE || !is_port(colon + 1))
		return -EINVAL;
	if (address[0] == '[' && address[length - 1] == ']') {
		address++;
		length -= 2;
	}
	if (length == 0 || length >= OOB_HOST_SIZE)
		return -EINVAL;
	memcpy(host, address, length);
	host[length] = '\0';
	memcpy(port, colon + 1, strlen(colon + 1) + 1);
	return 0;
}

int oob_lookup_check(const char *address, struct err *err)
{
	char host[OOB_HOST_SIZE], port[OOB_PORT_SIZE];

	if (split(address, host, port) < 0)
		return err_set(err, EINVAL, "'%.200s' is not HOST:PORT", address);
	return 0;
}

/* On the heap: the thread may outlive its caller. */
struct question {
	char host[OOB_HOST_SIZE], port[OOB_PORT_SIZE];
	struct addrinfo hints;
	struct addrinfo *found;
	int code; /* from getaddrinfo() */
};

static int ask(void *context, struct err *err)
{
	struct question *q = context;

	(void)err;
	q->code = getaddrinfo(q->host, q->port, &q->hints, &q->found);
	return 0;
}

static void question_free(void *context)
{
	struct question *q = context;

	if (q->code == 0 && q->found)
		freeaddrinfo(q->found);
	free(q);
}

/* A numeric address is resolved at once; a name needs a lookup. */
static int find(struct question *q, uint64_t deadline_us, struct err *err)
{
	const int flags = q->hints.ai_flags;

	q->hints.ai_flags = flags | AI_NUMERICHOST;
	(void)ask(q, err);
	if (q->code != EAI_NONAME)
		return 0;
	q->hints.ai_flags = flags;
	return watched_run(ask, q, deadline_us, question_free, err);
}

int oob_lookup(const char *address, bool passive, uint64_t deadline_us, struct addrinfo **ret,
	       struct err *err)
{
	struct question *q = xcalloc(1, sizeof(*q));
	int code, r;

	q->hints.ai_socktype = SOCK_STREAM;
	q->hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
	q->code = EAI_AGAIN; /* in case the lookup does not finish */
	if (split(address, q->host, q->port) < 0) {
		free(q);
		return err_set(err, EINVAL, "'%.200s' is not HOST:PORT", address);
	}
	r = find(q, deadline_us, err);
	if (r == -ETIMEDOUT)
		return err_set(err, ETIMEDOUT,
			       "'%.200s': no name server answered in time; give the address "
			       "instead of the name, or fix the name servers of this host",
			       address);
	code = q->code;
	if (r == 0 && code == 0) {
		*ret = q->found;
		q->found = NULL;
	}
	question_free(q);
	if (r < 0)
		return r;
	if (code == EAI_NONAME || code == EAI_SERVICE)
		return err_set(err, EINVAL, "'%.200s': %s", address, gai_strerror(code));
	return code ? err_set(err, EHOSTUNREACH, "%.200s: %s", address, gai_strerror(code)) : 0;
}

static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
	return address->sa_family == AF_INET &&
	       ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static bool is_numeric(const char *host)
{
	struct in6_addr parsed;

	return inet_pton(AF_INET, host, &parsed) == 1 || inet_pton(AF_INET6, host, &parsed) == 1;
}

bool oob_lookup_only_own(const char *address, const struct sockaddr *found)
{
	char host[OOB_HOST_SIZE], port[OOB_PORT_SIZE];

	return split(address, host, port) == 0 && !is_numeric(host) &&
	       !starts_with(host, "localhost") && is_loopback(found);
}
