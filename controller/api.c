/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/api.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controller/api_inside.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "lib/file.h"
#include "lib/xalloc.h"

enum { BACKLOG = 4096, OPTIONS_MAX = 12 };

/* How often connections that take too long are looked for. */
#define SWEEP_US USEC_PER_SEC
#define SWEEP_ACCURACY_US (USEC_PER_SEC / 4)

static void arm_timeout(struct api *api)
{
	MHD_UNSIGNED_LONG_LONG timeout_ms = 0;

	if (MHD_get_timeout(api->daemon, &timeout_ms) != MHD_YES) {
		(void)sd_event_source_set_enabled(api->timeout, SD_EVENT_OFF);
		return;
	}
	/* The library says milliseconds from now, sd-event wants microseconds. */
	(void)sd_event_source_set_time_relative(api->timeout, timeout_ms * USEC_PER_MSEC);
	(void)sd_event_source_set_enabled(api->timeout, SD_EVENT_ONESHOT);
}

void api_run(struct api *api)
{
	(void)MHD_run(api->daemon);
	arm_timeout(api);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *context)
{
	(void)source;
	(void)fd;
	(void)events;
	api_run(context);
	return 0;
}

static int on_resume(sd_event_source *source, void *context)
{
	(void)source;
	api_run(context);
	return 0;
}

static int on_timeout(sd_event_source *source, uint64_t now_us, void *context)
{
	(void)source;
	(void)now_us;
	api_run(context);
	return 0;
}

static uint64_t limit_us(const struct link *link)
{
	if (link->call)
		return link->call->held ? UINT64_MAX : API_REQUEST_US;
	return link->used ? API_IDLE_US : API_FIRST_US;
}

/* Cut what takes too long: the library then finds its socket at an end. */
static int on_sweep(sd_event_source *source, uint64_t time_us, void *context)
{
	struct api *api = context;
	uint64_t now_us = clock_mono_us();
	struct link *link;

	(void)time_us;
	LIST_FOREACH(link, &api->links, links)
	{
		if (link->cut || now_us - link->since_us < limit_us(link))
			continue;
		link->cut = true;
		api->counts.cut++;
		(void)shutdown(link->fd, SHUT_RDWR);
	}
	(void)sd_event_source_set_time_relative(source, SWEEP_US);
	(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

/* A host that lost its power says nothing: asked after 2 s, gone after 5. */
static void watch_peer(int fd)
{
	static const struct {
		int level, name, value;
	} rows[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 2 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 1 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 3 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		(void)setsockopt(fd, rows[i].level, rows[i].name, &rows[i].value,
				 sizeof(rows[i].value));
}

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct api *api = context;
	struct link *link = *socket_context;
	const union MHD_ConnectionInfo *info;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED && link) {
		LIST_REMOVE(link, links);
		api->counts.connections--;
		free(link->peer);
		free(link);
		*socket_context = NULL;
		return;
	}
	if (code != MHD_CONNECTION_NOTIFY_STARTED)
		return;
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	link = xcalloc(1, sizeof(*link));
	link->api = api;
	link->fd = info ? info->connect_fd : -1;
	link->since_us = clock_mono_us();
	watch_peer(link->fd);
	LIST_INSERT_HEAD(&api->links, link, links);
	api->counts.connections++;
	*socket_context = link;
}

/* "ADDR:PORT" or "[ADDR]:PORT" as two texts. */
static int split_address(const char *text, char **ret_host, char **ret_port, struct err *err)
{
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;

	if (length == 0 || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1))
		return err_set(err, EINVAL, "'%.80s' is no ADDR:PORT", text);
	if (text[0] == '[' && text[length - 1] == ']') {
		text++;
		length -= 2;
	}
	*ret_host = xstrndup(text, length);
	*ret_port = xstrdup(colon + 1);
	return 0;
}

static int listen_on(const struct addrinfo *where, struct err *err)
{
	CLEANUP(closep)
	int fd = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0)
		return err_errno(err, errno, "socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, where->ai_addr, where->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
		return err_errno(err, errno, "cannot listen");
	return TAKE_FD(fd);
}

static int listen_at(const char *address, struct err *err)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE };
	CLEANUP(freep) char *host = NULL;
	CLEANUP(freep) char *port = NULL;
	struct addrinfo *where = NULL;
	int r = split_address(address, &host, &port, err);

	if (r < 0)
		return r;
	r = getaddrinfo(host, port, &hints, &where);
	if (r != 0)
		return err_set(err, EINVAL, "'%.80s': %s", address, gai_strerror(r));
	r = listen_on(where, err);
	freeaddrinfo(where);
	return r < 0 ? err_wrap(err, r, "%s", address) : r;
}

static char *name_of_socket(int fd)
{
	struct sockaddr_storage address = { 0 };
	socklen_t length = sizeof(address);
	char host[INET6_ADDRSTRLEN + 16], port[8];

	if (getsockname(fd, (struct sockaddr *)&address, &length) < 0 ||
	    getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return xstrdup("?");
	return xasprintf(address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

/* A text the library only reads, though its type does not say so. */
static void *unconst(const char *text)
{
	void *p;

	memcpy(&p, &text, sizeof(p));
	return p;
}

static int start_daemon(struct api *api, int fd, struct err *err)
{
	const struct api_options *o = &api->options;
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO;
	struct MHD_OptionItem options[OPTIONS_MAX] = {
		{ MHD_OPTION_LISTEN_SOCKET, fd, NULL },
		{ MHD_OPTION_CONNECTION_MEMORY_LIMIT, API_CONNECTION_MEMORY, NULL },
		{ MHD_OPTION_CONNECTION_LIMIT, (intptr_t)o->connections_max, NULL },
		{ MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)call_done, api },
		{ MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, api },
	};
	size_t n = 5;

	if (o->tls_cert) {
		flags |= MHD_USE_TLS;
		options[n++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_CERT, 0,
							unconst(o->tls_cert) };
		options[n++] =
			(struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_KEY, 0, unconst(o->tls_key) };
	}
	if (o->tls_cert && o->client_ca)
		options[n++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_TRUST, 0,
							unconst(o->client_ca) };
	options[n] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
	api->daemon = MHD_start_daemon(flags, 0, NULL, NULL, call_step, api, MHD_OPTION_ARRAY,
				       options, MHD_OPTION_END);
	return api->daemon ? 0
			   : err_set(err, EIO, "%s: cannot start%s", o->address,
				     o->tls_cert ? " (are certificate and key good?)" : "");
}

static int join_loop(struct api *api, struct err *err)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(api->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int r = info ? sd_event_add_io(api->loop, &api->io, info->epoll_fd, EPOLLIN, on_io, api)
		     : -EIO;

	if (r >= 0)
		r = sd_event_add_time_relative(api->loop, &api->timeout, CLOCK_MONOTONIC, 0,
					       USEC_PER_MSEC, on_timeout, api);
	if (r >= 0)
		r = sd_event_add_time_relative(api->loop, &api->sweep, CLOCK_MONOTONIC, SWEEP_US,
					       SWEEP_ACCURACY_US, on_sweep, api);
	if (r >= 0)
		r = sd_event_add_defer(api->loop, &api->resume, on_resume, api);
	if (r >= 0)
		r = sd_event_source_set_enabled(api->resume, SD_EVENT_OFF);
	return r < 0 ? err_errno(err, -r, "event loop") : 0;
}

int api_open(const struct api_options *options, sd_event *loop, struct api **ret_api,
	     char **ret_address, struct err *err)
{
	CLEANUP(api_closep) struct api *api = xcalloc(1, sizeof(*api));
	int fd, r;

	api->options = *options;
	api->loop = sd_event_ref(loop);
	LIST_INIT(&api->links);
	LIST_INIT(&api->held);
	if (options->tls_cert && !tls_built_in())
		return err_set(err, EINVAL, "tls-cert: TLS is not built in");
	fd = listen_at(options->address, err);
	if (fd < 0)
		return fd;
	r = start_daemon(api, fd, err);
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	r = join_loop(api, err);
	if (r < 0)
		return r;
	*ret_address = name_of_socket(fd);
	*ret_api = TAKE(api);
	return 0;
}

void api_close(struct api *api)
{
	struct call *call;

	if (!api)
		return;
	api->closing = true;
	while ((call = LIST_FIRST(&api->held))) {
		if (call->gone)
			call->gone(api->options.context, call);
		if (!call->answer)
			call_refuse(call, 503, "the controller is stopping");
	}
	if (api->daemon) {
		(void)MHD_run(api->daemon);
		MHD_stop_daemon(api->daemon);
	}
	(void)sd_event_source_disable_unref(api->io);
	(void)sd_event_source_disable_unref(api->timeout);
	(void)sd_event_source_disable_unref(api->sweep);
	(void)sd_event_source_disable_unref(api->resume);
	(void)sd_event_unref(api->loop);
	free(api);
}

struct api_counts api_counts(const struct api *api)
{
	return api->counts;
}
