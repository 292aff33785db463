/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/oob.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/net/tcp.h"
#include "lib/sys/file.h"
#include "probes/rdma/oob_lookup.h"

/* Only lines "passed HOST:PORT", as the permit file of an all-reduce has them, or nothing. */
static bool is_of_a_permit(const char *text)
{
	static const char word[] = "passed ";

	for (text += strspn(text, "\r\n"); *text; text += strspn(text, "\r\n")) {
		if (strncmp(text, word, sizeof(word) - 1) != 0)
			return false;
		text += strcspn(text, "\r\n");
	}
	return true;
}

int oob_token_read(const char *path, char **ret_token, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	size_t length, end;
	int r = file_read(AT_FDCWD, path, OOB_TOKEN_FILE_MAX, &text, &length, err);

	if (r < 0)
		return r;
	end = strcspn(text, "\r\n");
	if (end == 0 || end > OOB_TOKEN_MAX || strlen(text) != length || !is_of_a_permit(text + end))
		return err_set(err, EINVAL, "%s: expected one line with a token", path);
	text[end] = '\0';
	*ret_token = TAKE(text);
	return 0;
}

/* Wait until the socket is readable or writable. */
static int wait_for(const struct oob *o, short events, uint64_t deadline_us, struct err *err)
{
	struct pollfd fd = { .fd = o->fd, .events = events };
	int r = poll(&fd, 1, clock_left_ms(deadline_us));

	if (r < 0 && errno != EINTR)
		return err_errno(err, errno, "%s", o->name);
	if (r == 0)
		return err_set(err, ETIMEDOUT, "%s does not answer", o->name);
	return 0;
}

static int went_away(const struct oob *o, int code, struct err *err)
{
	if (code == 0 || code == ECONNRESET || code == EPIPE)
		return err_set(err, ECONNRESET, "%s closed the connection", o->name);
	return err_set(err, ECONNRESET, "%s closed the connection: %s", o->name, strerror(code));
}

static int write_all(const struct oob *o, const void *bytes, size_t length, uint64_t deadline_us,
		     struct err *err)
{
	const char *at = bytes;

	while (length > 0) {
		ssize_t n = send(o->fd, at, length, MSG_NOSIGNAL | MSG_DONTWAIT);
		int r = 0;

		if (n < 0 && errno == EAGAIN)
			r = wait_for(o, POLLOUT, deadline_us, err);
		else if (n < 0 && errno != EINTR)
			return went_away(o, errno, err);
		if (r < 0)
			return r;
		at += MAX(n, 0);
		length -= (size_t)MAX(n, 0);
	}
	return 0;
}

static int read_all(const struct oob *o, void *ret_bytes, size_t length, uint64_t deadline_us,
		    struct err *err)
{
	char *at = ret_bytes;

	while (length > 0) {
		ssize_t n = recv(o->fd, at, length, MSG_DONTWAIT);
		int r = 0;

		if (n < 0 && errno == EAGAIN)
			r = wait_for(o, POLLIN, deadline_us, err);
		else if (n == 0 || (n < 0 && errno != EINTR))
			return went_away(o, n == 0 ? 0 : errno, err);
		if (r < 0)
			return r;
		at += MAX(n, 0);
		length -= (size_t)MAX(n, 0);
	}
	return 0;
}

static int greet(struct oob *o, bool dials, const char *token, uint64_t deadline_us, struct err *err)
{
	struct oob_greeting own = { .version = OOB_VERSION }, theirs;
	unsigned char bytes[OOB_GREETING_SIZE];
	struct err why = ERR_INIT;
	int r = random_secret(own.nonce, sizeof(own.nonce), deadline_us, err);

	if (r < 0)
		return r;
	oob_greeting_encode(&own, bytes);
	r = write_all(o, bytes, sizeof(bytes), deadline_us, err);
	if (r == 0)
		r = read_all(o, bytes, sizeof(bytes), deadline_us, err);
	if (r < 0)
		return r;
	r = oob_greeting_decode(bytes, &theirs, &why);
	if (r < 0)
		return err_set(err, -r, "%s %s", o->name, why.msg);
	oob_key(token, dials, dials ? own.nonce : theirs.nonce, dials ? theirs.nonce : own.nonce,
		o->send_key);
	oob_key(token, !dials, dials ? own.nonce : theirs.nonce, dials ? theirs.nonce : own.nonce,
		o->receive_key);
	return 0;
}

/* The dialer proves first, so that a port scanner gets nothing derived from the token. */
static int prove(struct oob *o, bool dials, uint64_t deadline_us, struct err *err)
{
	static const unsigned char refused[SHA256_SIZE];
	unsigned char own[SHA256_SIZE], wanted[SHA256_SIZE], theirs[SHA256_SIZE];
	int r = 0;

	oob_proof(o->send_key, own);
	oob_proof(o->receive_key, wanted);
	if (dials)
		r = write_all(o, own, sizeof(own), deadline_us, err);
	if (r == 0)
		r = read_all(o, theirs, sizeof(theirs), deadline_us, err);
	if (r < 0)
		return r;
	if (!oob_same(theirs, wanted)) {
		if (!dials)
			(void)write_all(o, refused, sizeof(refused), deadline_us, NULL);
		return err_set(err, EACCES,
			       "%s has another token: give both hosts the same --token-file",
			       o->name);
	}
	return dials ? 0 : write_all(o, own, sizeof(own), deadline_us, err);
}

int oob_begin(int fd, const char *name, bool dials, const char *token, uint64_t deadline_us,
	      struct oob *ret, struct err *err)
{
	struct oob o = { .fd = fd };
	int r;

	(void)snprintf(o.name, sizeof(o.name), "%s", name);
	r = greet(&o, dials, token, deadline_us, err);
	if (r == 0)
		r = prove(&o, dials, deadline_us, err);
	if (r < 0) {
		oob_close(&o);
		return r;
	}
	*ret = o;
	return 0;
}

int oob_send(struct oob *o, const char *body, size_t length, uint64_t deadline_us, struct err *err)
{
	unsigned char header[OOB_HEADER_SIZE];
	int r;

	if (length > OOB_BODY_MAX)
		return err_set(err, EMSGSIZE, "a message of %zu bytes", length);
	oob_header_encode(o->send_key, o->sent++, body, length, header);
	r = write_all(o, header, sizeof(header), deadline_us, err);
	return r < 0 ? r : write_all(o, body, length, deadline_us, err);
}

int oob_receive(struct oob *o, uint64_t deadline_us, char **ret_body, size_t *ret_length,
		struct err *err)
{
	unsigned char header[OOB_HEADER_SIZE], wanted[OOB_HEADER_SIZE];
	CLEANUP(freep) char *body = NULL;
	size_t length = 0;
	int r = read_all(o, header, sizeof(header), deadline_us, err);

	if (r < 0)
		return r;
	if (oob_header_length(header, &length) < 0)
		return err_set(err, EMSGSIZE, "%s sends more than %d bytes at once", o->name,
			       OOB_BODY_MAX);
	body = xcalloc(1, length + 1);
	r = read_all(o, body, length, deadline_us, err);
	if (r < 0)
		return r;
	oob_header_encode(o->receive_key, o->received++, body, length, wanted);
	if (!oob_same(header + OOB_HEADER_SIZE - SHA256_SIZE,
		      wanted + OOB_HEADER_SIZE - SHA256_SIZE))
		return err_set(err, EBADMSG, "a message from %s has a wrong signature", o->name);
	*ret_body = TAKE(body);
	*ret_length = length;
	return 0;
}

void oob_close(struct oob *o)
{
	if (o->fd >= 0)
		(void)close(o->fd);
	o->fd = -1;
}

/* --- finding each other: listening and dialling --- */

enum { BACKLOG = 8, AGAIN_MS = 100 };

/* A silent stranger must not keep the right peer out for long. */
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
	/* "Any address" means both families, whatever the host's default is. */
	if (fd >= 0 && address->sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (fd < 0 || bind(fd, address, length) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Bind to all addresses of this host, at the port of `found`. */
static int bind_to_all(const struct sockaddr *found, int *ret_fd)
{
	/* sin_port and sin6_port are at the same offset. */
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

/* accept(2) also reports errors of a single connection, which do not affect the next one. */
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

		/* Strangers may keep coming, so the deadline is checked each time. */
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

/* Connect to one address by the deadline. Returns the usual errno, or -ETIMEDOUT. */
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
	/* The other side may start a little later, and retrying is the only way to notice. */
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
