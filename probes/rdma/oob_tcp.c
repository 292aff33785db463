/* SPDX-License-Identifier: Apache-2.0 */
/* How two probes find each other: listening and dialling. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/net/tcp.h"
#include "lib/sys/file.h"
#include "probes/rdma/oob.h"
#include "probes/rdma/oob_lookup.h"

enum { BACKLOG = 8, AGAIN_MS = 100 };

/* A stranger that says nothing must not keep the right one out for long. */
#define GREETING_US (2 * USEC_PER_SEC)

static void name_of(const struct sockaddr *address, socklen_t length,
		    char ret_name[static OOB_NAME_SIZE])
{
	char host[OOB_HOST_SIZE], port[OOB_PORT_SIZE];
	const int flags = NI_NUMERICHOST | NI_NUMERICSERV;

	if (getnameinfo(address, length, host, sizeof(host), port, sizeof(port), flags) != 0)
		(void)snprintf(ret_name, OOB_NAME_SIZE, "somebody");
	else
		(void)snprintf(ret_name, OOB_NAME_SIZE,
			       address->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static int bind_to(const struct sockaddr *address, socklen_t length, int *ret_fd)
{
	const int on = 1, off = 0;
	CLEANUP(closep)
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* Of all addresses those of both families, however the host is set. */
	if (fd >= 0 && address->sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (fd < 0 || bind(fd, address, length) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* All addresses of this host, at the port of `found`. */
static int bind_to_all(const struct sockaddr *found, int *ret_fd)
{
	/* At the same place in both families. */
	const in_port_t port = ((const struct sockaddr_in *)found)->sin_port;
	const struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = port };
	const struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = port };
	int r = bind_to((const struct sockaddr *)&six, sizeof(six), ret_fd);

	/* A host without IPv6. */
	if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL)
		r = bind_to((const struct sockaddr *)&four, sizeof(four), ret_fd);
	return r;
}

int oob_listen(const char *address, uint64_t deadline_us, char ret_bound[static OOB_NAME_SIZE],
	       int *ret_fd, struct err *err)
{
	struct sockaddr_storage bound;
	socklen_t length = sizeof(bound);
	CLEANUP(closep) int fd = -1;
	struct addrinfo *found = NULL;
	int r = oob_lookup(address, true, deadline_us, &found, err);

	if (r < 0)
		return r;
	r = oob_lookup_only_own(address, found->ai_addr)
		    ? bind_to_all(found->ai_addr, &fd)
		    : bind_to(found->ai_addr, found->ai_addrlen, &fd);
	freeaddrinfo(found);
	if (r < 0)
		return err_errno(err, -r, "cannot listen on %s", address);
	if (getsockname(fd, (struct sockaddr *)&bound, &length) < 0)
		return err_errno(err, errno, "cannot listen on %s", address);
	name_of((struct sockaddr *)&bound, length, ret_bound);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static void make_ready(int fd)
{
	const int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	tcp_watch_peer(fd);
}

/* accept(2) also tells of errors of one connection, which are nothing to the next. */
static bool is_of_this_host(int code)
{
	static const int codes[] = { EMFILE, ENFILE, ENOBUFS, ENOMEM, EBADF, EINVAL, ENOTSOCK };
	size_t i = 0;

	while (i < ARRAY_SIZE(codes) && codes[i] != code)
		i++;
	return i < ARRAY_SIZE(codes);
}

static int nobody_came(const struct err *last, struct err *err)
{
	if (!last->code)
		return err_set(err, ETIMEDOUT, "nobody came");
	return err_set(err, ETIMEDOUT, "nobody connected with this token; the last error: %s",
		       last->msg);
}

int oob_accept(int listen_fd, const char *token, uint64_t deadline_us, struct oob *ret,
	       struct err *err)
{
	struct err last = ERR_INIT;

	for (;;) {
		struct pollfd wait = { .fd = listen_fd, .events = POLLIN };
		struct sockaddr_storage from;
		socklen_t length = sizeof(from);
		char name[OOB_NAME_SIZE];
		int fd;

		/* Strangers may come without end. */
		if (poll(&wait, 1, clock_left_ms(deadline_us)) == 0 ||
		    clock_left_us(deadline_us) == 0)
			return nobody_came(&last, err);
		fd = accept4(listen_fd, (struct sockaddr *)&from, &length, SOCK_CLOEXEC);
		if (fd < 0 && is_of_this_host(errno))
			return err_errno(err, errno, "cannot take a connection");
		if (fd < 0)
			continue;
		make_ready(fd);
		name_of((struct sockaddr *)&from, length, name);
		if (oob_begin(fd, name, false, token,
			      MIN(deadline_us, clock_mono_us() + GREETING_US), ret, &last) == 0)
			return 0;
		log_warning("%s", last.msg);
	}
}

/* Connect by the deadline. The usual errno; -ETIMEDOUT. */
static int connect_once(const struct addrinfo *to, uint64_t deadline_us, int *ret_fd)
{
	CLEANUP(closep)
	int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	int code = 0;
	socklen_t length = sizeof(code);

	if (fd < 0)
		return -errno;
	if (connect(fd, to->ai_addr, to->ai_addrlen) < 0) {
		if (errno != EINPROGRESS)
			return -errno;
		if (poll(&wait, 1, clock_left_ms(deadline_us)) <= 0)
			return -ETIMEDOUT;
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) < 0 || code)
			return code ? -code : -errno;
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int oob_connect(const struct addrinfo *found, uint64_t deadline_us, int *ret_fd)
{
	const struct addrinfo *a;
	bool refused = false;
	uint64_t n = 0;
	int r = -EHOSTUNREACH;

	for (a = found; a; a = a->ai_next)
		n++;
	for (a = found; a && r < 0; a = a->ai_next, n--) {
		r = connect_once(a, clock_mono_us() + clock_left_us(deadline_us) / n, ret_fd);
		refused = refused || r == -ECONNREFUSED;
	}
	return r < 0 && refused ? -ECONNREFUSED : r;
}

int oob_dial(const char *address, const char *token, uint64_t deadline_us, struct oob *ret,
	     struct err *err)
{
	struct addrinfo *found = NULL;
	int fd = -1, r = oob_lookup(address, false, deadline_us, &found, err);

	if (r < 0)
		return r;
	/* The other side may start a little later: the only sign of it is that it answers. */
	do {
		r = oob_connect(found, deadline_us, &fd);
		if (r == -ECONNREFUSED)
			(void)poll(NULL, 0, MIN(AGAIN_MS, clock_left_ms(deadline_us)));
	} while (r == -ECONNREFUSED && clock_left_us(deadline_us) > 0);
	freeaddrinfo(found);
	if (r < 0)
		return err_errno(err, -r, "%s does not answer", address);
	make_ready(fd);
	return oob_begin(fd, address, true, token, deadline_us, ret, err);
}
