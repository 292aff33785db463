/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/api.h"

#include <ctype.h>
#include <errno.h>
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "controller/http/api_accept.h"
#include "controller/http/api_inside.h"
#include "controller/http/api_say.h"
#include "controller/http/api_step.h"
#include "controller/http/api_tls.h"
#include "controller/http/api_turn.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/net/tcp.h"

enum { OPTIONS_MAX = 12 };

/* The library's limit exceeds ours, so that ours applies. */
enum { LIBRARY_MORE = 16 };

/* Number of closed connections after which memory is returned. */
enum { TRIM_MIN = 500 };

/* Interval of checking for connections that take too long. */
#define SWEEP_US USEC_PER_SEC
#define SWEEP_ACCURACY_US (USEC_PER_SEC / 4)

/* Priority in the loop: lets other events come in between two turns. */
enum { RESUME_PRIORITY = 10 };

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

/* After many connections the heap is fragmented and not returned by itself. */
static void trim(struct api *api)
{
	unsigned now = api->counts.connections;

	api->connections_most = MAX(api->connections_most, now);
	if (api->connections_most < TRIM_MIN || now > api->connections_most / 2)
		return;
	(void)malloc_trim(0);
	api->connections_most = now;
}

/* Shut down slow connections: the library then sees the end of the socket. */
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
		api_say_cut(link, now_us);
		(void)shutdown(link->fd, SHUT_RDWR);
	}
	api_say_missed(api, now_us);
	trim(api);
	api_accept_again(api);
	(void)sd_event_source_set_time_relative(source, SWEEP_US);
	(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct api *api = context;
	struct link *link = *socket_context;
	const union MHD_ConnectionInfo *info;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED && link) {
		api_say_unread(link);
		LIST_REMOVE(link, links);
		api->counts.connections--;
		peer_quotas_leave(&api->peers, link->from);
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
	link->connection = connection;
	link->fd = info ? info->connect_fd : -1;
	link->since_us = clock_mono_us();
	link->from = TAKE(api->arriving);
	tcp_watch_peer(link->fd);
	LIST_INSERT_HEAD(&api->links, link, links);
	api->counts.connections++;
	*socket_context = link;
}

/* The library does not write to it, although the type is not const. */
static void *unconst(const char *text)
{
	void *p;

	memcpy(&p, &text, sizeof(p));
	return p;
}

static bool hex_byte(const char *text, unsigned *ret_value)
{
	static const char digits[] = "0123456789abcdef";
	const char *high = text[0] ? strchr(digits, tolower((unsigned char)text[0])) : NULL;
	const char *low = high && text[1] ? strchr(digits, tolower((unsigned char)text[1])) : NULL;

	if (!low)
		return false;
	*ret_value = (unsigned)((high - digits) * 16 + (low - digits));
	return true;
}

/*
 * Decodes escapes like the library, except %00, which would hide what follows. No valid name
 * contains it.
 */
static size_t unescape(void *context, struct MHD_Connection *connection, char *text)
{
	char *in = text, *out = text;
	unsigned value;

	(void)context;
	(void)connection;
	while (*in) {
		if (*in == '%' && hex_byte(in + 1, &value) && value != 0) {
			*out++ = (char)value;
			in += 3;
		} else {
			*out++ = *in++;
		}
	}
	*out = '\0';
	return (size_t)(out - text);
}

/* RFC 8996: nothing older than TLS 1.2. */
static const char tls_priorities[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

static int start_daemon(struct api *api, struct err *err)
{
	const struct api_options *o = &api->options;
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO |
			 MHD_USE_NO_LISTEN_SOCKET;
	struct MHD_OptionItem options[OPTIONS_MAX] = {
		{ MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)unescape, NULL },
		{ MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL },
		{ MHD_OPTION_CONNECTION_MEMORY_LIMIT, API_CONNECTION_MEMORY, NULL },
		{ MHD_OPTION_CONNECTION_LIMIT, (intptr_t)o->connections_max + LIBRARY_MORE, NULL },
		{ MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)api_step_done, api },
		{ MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, api },
	};
	size_t n = 6;

	if (o->tls_cert) {
		flags |= MHD_USE_TLS;
		options[n++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_PRIORITIES, 0,
							unconst(tls_priorities) };
		options[n++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_CERT_CALLBACK, 0,
							api_tls_callback() };
	}
	/* Makes the library request client certificates; api_tls.c verifies them. */
	if (o->tls_cert && o->client_ca)
		options[n++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_TRUST, 0,
							unconst(o->client_ca) };
	options[n] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
	api->daemon = MHD_start_daemon(flags, 0, NULL, NULL, api_step, api, MHD_OPTION_ARRAY,
				       options, MHD_OPTION_END);
	return api->daemon ? 0
			   : err_set(err, EIO, "%s: cannot start%s", o->address,
				     o->tls_cert ? " with TLS" : "");
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
	if (r >= 0)
		r = sd_event_source_set_priority(api->resume, RESUME_PRIORITY);
	if (r >= 0)
		r = api_questions_open(api);
	return r < 0 ? err_errno(err, -r, "event loop") : 0;
}

int api_open(const struct api_options *options, sd_event *loop, struct api **ret_api,
	     char **ret_address, struct err *err)
{
	CLEANUP(api_closep) struct api *api = xcalloc(1, sizeof(*api));
	CLEANUP(freep) char *address = NULL;
	int r;

	api->options = *options;
	api->loop = sd_event_ref(loop);
	api->listen_fd = -1;
	LIST_INIT(&api->links);
	LIST_INIT(&api->held);
	if (options->tls_cert && !api_tls_built_in())
		return err_set(err, EINVAL, "tls-cert: TLS is not built in");
	if (options->tls_cert) {
		r = api_tls_set_keys(options->tls_cert, options->tls_key, options->client_ca, err);
		if (r < 0)
			return r;
	}
	r = api_accept_open(api, &address, err);
	if (r == 0)
		r = start_daemon(api, err);
	if (r == 0)
		r = join_loop(api, err);
	if (r < 0)
		return r;
	*ret_address = TAKE(address);
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
	api_accept_close(api);
	(void)sd_event_source_disable_unref(api->io);
	(void)sd_event_source_disable_unref(api->timeout);
	(void)sd_event_source_disable_unref(api->sweep);
	(void)sd_event_source_disable_unref(api->resume);
	api_questions_close(api);
	(void)sd_event_unref(api->loop);
	free(api);
}

int api_renew_tls(struct api *api, const char *cert, const char *key, const char *client_ca,
		  struct err *err)
{
	(void)api;
	return api_tls_set_keys(cert, key, client_ca, err);
}

int api_check_tls(const char *cert, const char *key, const char *client_ca, struct err *ret_soon,
		  struct err *err)
{
	return api_tls_check_keys(cert, key, client_ca, ret_soon, err);
}

struct api_counts api_counts(const struct api *api)
{
	struct api_counts counts = api->counts;

	counts.ends = api_tls_ends();
	return counts;
}
