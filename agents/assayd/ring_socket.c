/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/ring_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "agents/assayd/ring_memory.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/ring/ring_layout.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

enum {
	BACKLOG = 64,
	ACCEPTS_MAX = 64, /* per iteration of the loop */
	FDS_MAX = 2,	  /* received at once: one is right, and two are enough to detect more */
	DIR_MODE = 0755,
	SOCKET_MODE = 0666,
};

#define TURN_US (20 * USEC_PER_MSEC) /* pause, to let other event sources run */
#define LOOK_US (USEC_PER_SEC / 2)   /* interval of checks for expired deadlines */

#ifndef SO_PEERPIDFD /* Linux 6.5 */
#define SO_PEERPIDFD 77
#endif

struct connection {
	struct ring_socket *socket;
	sd_event_source *source; /* NULL: free */
	int fd;
	struct ring_peer peer;
};

struct ring_socket {
	sd_event *event;
	struct ring_socket_options o;
	sd_event_source *listening, *timer, *turn;
	int fd;
	struct connection connections[RING_CONNECTIONS_MAX];
	size_t n;
	struct ring_pace pace;
};

/* --- a connection --- */

static void end(struct connection *c, enum ring_refusal why)
{
	struct ring_socket *s = c->socket;

	c->source = sd_event_source_disable_unref(c->source);
	closep(&c->fd);
	s->n--;
	s->o.ended(s->o.context, why, &c->peer);
}

struct received {
	struct ring_hello hello;
	ssize_t n;
	int fds[FDS_MAX];
	size_t n_fds;
	bool cut; /* there was more than we accept */
};

static void receive(int fd, struct received *ret)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * FDS_MAX)];
		struct cmsghdr aligned;
	} control;
	struct iovec data = { &ret->hello, sizeof(ret->hello) };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	const struct cmsghdr *c;
	size_t n;

	*ret = (struct received){ .n = 0 };
	ret->n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (ret->n < 0)
		return;
	ret->cut = message.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
	c = CMSG_FIRSTHDR(&message);
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return;
	n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	ret->n_fds = MIN(n, (size_t)FDS_MAX);
	memcpy(ret->fds, CMSG_DATA(c), ret->n_fds * sizeof(int));
}

static void answer(int fd, bool taken, int control_fd)
{
	const struct ring_welcome welcome = { .magic = RING_MAGIC,
					      .version = RING_VERSION,
					      .taken = taken };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr aligned;
	} control = { .bytes = "" };
	struct iovec data = { (void *)(uintptr_t)&welcome, sizeof(welcome) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };

	if (taken && control_fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		control.aligned = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
						    .cmsg_level = SOL_SOCKET,
						    .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.aligned), &control_fd, sizeof(int));
	}
	(void)sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int open_peer(const struct connection *c)
{
	socklen_t length = sizeof(int);
	int pidfd = -1;

	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) == 0)
		return pidfd;
	if (errno != ENOPROTOOPT)
		return -1; /* it has ended, and its PID may be reused */
	return (int)syscall(SYS_pidfd_open, c->peer.pid, 0);
}

static enum ring_refusal judge(struct connection *c, const struct received *got, int *ret_control)
{
	const struct ring_socket *s = c->socket;
	enum ring_refusal why;

	if (got->n == 0 && got->n_fds == 0)
		return RING_LATE; /* it has disconnected */
	if (got->n != sizeof(got->hello) || got->hello.magic != RING_MAGIC ||
	    got->hello.version != RING_VERSION)
		return RING_MESSAGE;
	if (got->cut || got->n_fds != 1)
		return RING_DESCRIPTOR;
	c->peer.pidfd = open_peer(c);
	why = c->peer.pidfd < 0 ? RING_STRANGER
				: s->o.take(s->o.context, &c->peer, got->fds[0],
					    got->hello.again ? NULL : ret_control);
	closep(&c->peer.pidfd);
	c->peer.pidfd = -1;
	return why;
}

/* Closing accepted memory is cheap; anything else is closed in another thread. */
static void let_go(const struct received *got, enum ring_refusal why)
{
	size_t i;

	for (i = 0; i < got->n_fds; i++) {
		if (why == RING_TAKEN)
			(void)close(got->fds[i]);
		else
			ring_memory_discard(got->fds[i]);
	}
}

static int on_hello(sd_event_source *source UNUSED, int fd UNUSED, uint32_t events UNUSED,
		    void *context)
{
	CLEANUP(closep) int control = -1;
	struct connection *c = context;
	struct received got;
	enum ring_refusal why;

	if (!ring_memory_may_receive()) {
		end(c, RING_RESOURCES);
		return 0;
	}
	receive(c->fd, &got);
	if (got.n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got.n < 0)
		why = errno == ECONNRESET ? RING_LATE : RING_RESOURCES;
	else
		why = judge(c, &got, &control);
	let_go(&got, why);
	answer(c->fd, why == RING_TAKEN, control);
	end(c, why);
	return 0;
}

/* --- accepting --- */

static struct connection *find_free(struct ring_socket *s, uid_t uid)
{
	struct connection *found = NULL;
	size_t n = 0, i;

	for (i = 0; i < RING_CONNECTIONS_MAX; i++) {
		if (!s->connections[i].source)
			found = &s->connections[i];
		else
			n += s->connections[i].peer.uid == uid;
	}
	return n < RING_CONNECTIONS_OF_USER ? found : NULL;
}

static void set_timer(sd_event_source *timer, uint64_t after_us)
{
	(void)sd_event_source_set_time(timer, clock_mono_us() + after_us);
	(void)sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static enum ring_refusal admit(struct ring_socket *s, int *fd, const struct ring_peer *peer)
{
	struct connection *c;

	if (!ring_rules_pace(&s->pace, peer->uid, peer->since_us))
		return RING_RATE_LIMIT;
	c = find_free(s, peer->uid);
	if (!c)
		return RING_RATE_LIMIT;
	*c = (struct connection){ .socket = s, .fd = *fd, .peer = *peer };
	if (sd_event_add_io(s->event, &c->source, *fd, EPOLLIN, on_hello, c) < 0) {
		c->source = NULL;
		return RING_RESOURCES;
	}
	*fd = -1;
	if (s->n++ == 0)
		set_timer(s->timer, LOOK_US);
	return RING_TAKEN;
}

static bool accept_one(struct ring_socket *s)
{
	CLEANUP(closep) int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred who = { .pid = 0 };
	socklen_t length = sizeof(who);
	struct ring_peer peer = { .pidfd = -1, .since_us = clock_mono_us() };
	enum ring_refusal why = RING_STRANGER;

	if (fd < 0)
		return errno == EINTR || errno == ECONNABORTED;
	/* 0: it is in a PID namespace that we cannot see. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 && who.pid > 0) {
		peer.pid = who.pid;
		peer.uid = who.uid;
		why = admit(s, &fd, &peer);
	}
	if (why != RING_TAKEN)
		s->o.ended(s->o.context, why, &peer);
	return true;
}

static int on_connection(sd_event_source *source, int fd UNUSED, uint32_t events UNUSED,
			 void *context)
{
	struct ring_socket *s = context;
	int i;

	for (i = 0; i < ACCEPTS_MAX; i++) {
		if (!accept_one(s) && errno == EAGAIN)
			return 0;
	}
	/* Too many connections, or no descriptors: let them wait in the kernel's queue. */
	(void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
	set_timer(s->turn, TURN_US);
	return 0;
}

static int on_turn(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	struct ring_socket *s = context;

	return sd_event_source_set_enabled(s->listening, SD_EVENT_ON);
}

static int on_deadline(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	struct ring_socket *s = context;
	size_t i;

	for (i = 0; i < RING_CONNECTIONS_MAX; i++) {
		struct connection *c = &s->connections[i];

		if (c->source && clock_mono_us() > c->peer.since_us + RING_DEADLINE_US)
			end(c, RING_LATE);
	}
	if (s->n)
		set_timer(s->timer, LOOK_US);
	return 0;
}

/* --- life cycle --- */

/* The path may be longer than a socket address: bind relative to the directory's descriptor. */
static int bind_below(int fd, int dir_fd, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir_fd,
		       name);
	if (unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    fchmodat(dir_fd, name, SOCKET_MODE, 0) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return 0;
}

static int listen_at(const char *path, int *ret_fd, struct err *err)
{
	CLEANUP(freep) char *dir = xstrdup(path);
	char *name = strrchr(dir, '/');
	CLEANUP(closep) int fd = -1;
	CLEANUP(closep) int dir_fd = -1;
	int r;

	*name++ = '\0';
	r = file_mkdirs(dir, err);
	if (r < 0)
		return r;
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (dir_fd < 0 || fd < 0 || fchmod(dir_fd, DIR_MODE) < 0)
		return err_errno(err, errno, "%s", dir);
	r = bind_below(fd, dir_fd, name);
	if (r < 0)
		return err_errno(err, -r, "%s", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int begin(struct ring_socket *s, struct err *err)
{
	CLEANUP(freep) char *run = paths_run();
	CLEANUP(freep) char *path = xasprintf("%s/" RING_SOCKET_NAME, run);
	int r = listen_at(path, &s->fd, err);

	if (r < 0)
		return r;
	r = sd_event_add_io(s->event, &s->listening, s->fd, EPOLLIN, on_connection, s);
	if (r >= 0)
		r = sd_event_add_time(s->event, &s->timer, CLOCK_MONOTONIC, 0, 0, on_deadline, s);
	if (r >= 0)
		r = sd_event_source_set_enabled(s->timer, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_time(s->event, &s->turn, CLOCK_MONOTONIC, 0, 0, on_turn, s);
	if (r >= 0)
		r = sd_event_source_set_enabled(s->turn, SD_EVENT_OFF);
	return r < 0 ? err_errno(err, -r, "%s: no event", path) : 0;
}

struct ring_socket *ring_socket_new(struct sd_event *event,
				    const struct ring_socket_options *options)
{
	struct ring_socket *s = xcalloc(1, sizeof(*s));
	struct err err = ERR_INIT;

	s->event = sd_event_ref(event);
	s->o = *options;
	s->fd = -1;
	if (begin(s, &err) == 0)
		return s;
	log_error("job rings are not accepted: %s", err.msg);
	ring_socket_free(s);
	return NULL;
}

void ring_socket_free(struct ring_socket *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < RING_CONNECTIONS_MAX; i++) {
		if (s->connections[i].source)
			end(&s->connections[i], RING_LATE);
	}
	(void)sd_event_source_disable_unref(s->listening);
	(void)sd_event_source_disable_unref(s->timer);
	(void)sd_event_source_disable_unref(s->turn);
	closep(&s->fd);
	(void)sd_event_unref(s->event);
	free(s);
}
