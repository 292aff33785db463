/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/api_accept.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controller/http/api_inside.h"
#include "controller/http/api_say.h"
#include "controller/http/api_turn.h"
#include "controller/http/listen_address.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

enum {
	ACCEPT_MAX = 64,	   /* connections accepted per turn */
	DESCRIPTORS_RESERVED = 64, /* for the store and the loop */
	BACKLOG = 4096,
	DRAIN_SIZE = 4096,
};

static const char full_answer[] = "HTTP/1.1 503 Service Unavailable\r\n"
				  "Retry-After: " RETRY_AFTER_S "\r\n"
				  "Content-Type: application/problem+json\r\n"
				  "Content-Length: 90\r\n"
				  "Connection: close\r\n\r\n"
				  "{\"type\":\"about:blank\",\"title\":\"Not now\",\"status\":503,"
				  "\"detail\":\"no room for a connection\"}\n";

static void refuse(struct api *api, int fd, const struct sockaddr *address, const char *limit)
{
	char sink[DRAIN_SIZE];

	api->counts.refused++;
	if (!api->options.tls_cert) {
		/* Unread data would turn the close into a reset. */
		(void)!recv(fd, sink, sizeof(sink), MSG_DONTWAIT);
		(void)!send(fd, full_answer, strlen(full_answer), MSG_DONTWAIT | MSG_NOSIGNAL);
		(void)shutdown(fd, SHUT_WR);
		(void)!recv(fd, sink, sizeof(sink), MSG_DONTWAIT);
	}
	if (api_tells(api, API_SAY_FULL)) {
		CLEANUP(freep) char *peer = api_name_of(address);

		log_warning("connection refused: the limit %s is reached peer=%s", limit, peer);
	}
	(void)close(fd);
}

void api_accept_take(struct api *api, int fd, const struct sockaddr *address, socklen_t length)
{
	struct origin *peer = NULL;

	if (api->counts.connections >= api->connections_max) {
		refuse(api, fd, address, "connections-max");
		return;
	}
	peer = peer_quotas_enter(&api->peers, address, api->options.connections_per_peer);
	if (!peer) {
		refuse(api, fd, address, "connections-per-peer");
		return;
	}
	api->arriving = peer;
	/* On failure the library has closed it. */
	(void)MHD_add_connection(api->daemon, fd, address, length);
	if (api->arriving)
		peer_quotas_leave(&api->peers, TAKE(api->arriving));
}

static int on_listen(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct api *api = context;
	unsigned n;

	(void)events;
	for (n = 0; n < ACCEPT_MAX; n++) {
		struct sockaddr_storage address = { 0 };
		socklen_t length = sizeof(address);
		int peer = accept4(fd, (struct sockaddr *)&address, &length,
				   SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (peer >= 0) {
			api_accept_take(api, peer, (struct sockaddr *)&address, length);
			continue;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		/* Out of descriptors it would wake us forever: the sweep enables it again. */
		if (errno != EAGAIN)
			(void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
		break;
	}
	api_run(api);
	return 0;
}

/* Each connection takes a descriptor. */
static unsigned room_for(unsigned wanted)
{
	struct rlimit limit;
	rlim_t room;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return wanted;
	room = limit.rlim_cur > 2 * DESCRIPTORS_RESERVED ? limit.rlim_cur - DESCRIPTORS_RESERVED
							 : DESCRIPTORS_RESERVED;
	if (room >= wanted)
		return wanted;
	log_warning("connections-max: %u, but %llu descriptors allow %llu: raise LimitNOFILE",
		    wanted, (unsigned long long)limit.rlim_cur, (unsigned long long)room);
	return (unsigned)room;
}

static int listen_on(const struct listen_address *where, struct err *err)
{
	CLEANUP(closep)
	int fd = socket(where->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0)
		return err_errno(err, errno, "socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&where->storage, where->length) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return err_errno(err, errno, "cannot listen");
	return TAKE_FD(fd);
}

static int listen_at(const char *address, struct err *err)
{
	struct listen_address where;
	int r = listen_address_read(address, &where, err);

	if (r == 0)
		r = listen_on(&where, err);
	return r < 0 ? err_wrap(err, r, "%s", address) : r;
}

static char *name_of_socket(int fd)
{
	struct sockaddr_storage address = { 0 };
	socklen_t length = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &length) < 0)
		return xstrdup("?");
	return api_name_of((struct sockaddr *)&address);
}

int api_accept_open(struct api *api, char **ret_address, struct err *err)
{
	int fd = listen_at(api->options.address, err), r;

	if (fd < 0)
		return fd;
	api->listen_fd = fd;
	api->connections_max = room_for(api->options.connections_max);
	r = sd_event_add_io(api->loop, &api->listen, fd, EPOLLIN, on_listen, api);
	if (r < 0)
		return err_errno(err, -r, "event loop");
	*ret_address = name_of_socket(fd);
	return 0;
}

void api_accept_again(struct api *api)
{
	(void)sd_event_source_set_enabled(api->listen, SD_EVENT_ON);
}

void api_accept_close(struct api *api)
{
	api->listen = sd_event_source_disable_unref(api->listen);
	if (api->listen_fd >= 0)
		(void)close(api->listen_fd);
	api->listen_fd = -1;
	peer_quotas_release(&api->peers);
}
