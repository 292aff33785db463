/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/api_say.h"

#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "controller/http/api_inside.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"

enum { DETAIL_SIZE = 400, HOST_SIZE = 64, PORT_SIZE = 8 };

static const char *const say_names[API_SAY_LAST_] = {
	[API_SAY_FULL] = "connections refused",
	[API_SAY_CUT] = "connections cut",
	[API_SAY_UNREAD] = "connections without a request",
	[API_SAY_MALFORMED] = "malformed requests",
	[API_SAY_STRANGER] = "requests with an unknown token",
	[API_SAY_ROLE] = "requests without the needed role",
	[API_SAY_OFTEN] = "reports sent too often",
	[API_SAY_BUSY] = "requests refused because a limit is reached",
	[API_SAY_GONE] = "agents gone",
};

bool api_tells(struct api *api, enum api_say kind)
{
	return log_limit_take(&api->limits[kind], clock_mono_us());
}

void api_say_missed(struct api *api, uint64_t now_us)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(say_names); i++) {
		uint64_t missed = log_limit_end(&api->limits[i], now_us);

		if (missed > 0)
			log_warning("%llu more %s, not logged individually",
				    (unsigned long long)missed, say_names[i]);
	}
}

char *api_name_of(const struct sockaddr *address)
{
	socklen_t length = address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							  : sizeof(struct sockaddr_in);
	char host[HOST_SIZE], port[PORT_SIZE];

	if (getnameinfo(address, length, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return xstrdup("?");
	return xasprintf(address->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static char *name_of_peer(const struct link *link)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(link->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	return info && info->client_addr ? api_name_of(info->client_addr) : xstrdup("?");
}

char *api_peer_of(const struct call *call)
{
	return name_of_peer(call->link);
}

/* API_SAY_LAST_: not logged, or left to the handler. */
static enum api_say kind_of(const struct call *call, unsigned status)
{
	static const struct {
		unsigned status;
		enum api_say kind;
		bool handlers_too;
	} rows[] = {
		{ 400, API_SAY_MALFORMED, true },  { 401, API_SAY_STRANGER, true },
		{ 403, API_SAY_ROLE, true },	   { 404, API_SAY_MALFORMED, false },
		{ 405, API_SAY_MALFORMED, false }, { 413, API_SAY_MALFORMED, true },
		{ 415, API_SAY_MALFORMED, true },  { 422, API_SAY_MALFORMED, true },
		{ 429, API_SAY_OFTEN, true },	   { 503, API_SAY_BUSY, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].status == status)
			return rows[i].handlers_too || !call->handled ? rows[i].kind
								      : API_SAY_LAST_;
	}
	return API_SAY_LAST_;
}

void api_say_refusal(const struct call *call, unsigned status, const char *detail)
{
	CLEANUP(freep) char *peer = NULL;
	enum api_say kind = kind_of(call, status);
	char text[DETAIL_SIZE + CALL_PATH_SIZE + CALL_METHOD_SIZE];

	if (kind == API_SAY_LAST_ || call->api->closing || call->answer ||
	    !api_tells(call->api, kind))
		return;
	(void)snprintf(text, sizeof(text), "%.*s method=%s path=%s", DETAIL_SIZE - 20, detail,
		       call->method, call->path);
	(void)ascii_clean(text);
	peer = name_of_peer(call->link);
	log_warning("refused: %s status=%u peer=%s", text, status, peer);
}

void api_say_cut(const struct link *link, uint64_t now_us)
{
	CLEANUP(freep) char *peer = NULL;

	/* Being idle between requests is not an error. */
	if ((link->used && !link->call) || !api_tells(link->api, API_SAY_CUT))
		return;
	peer = name_of_peer(link);
	log_warning("cut: %s not complete after %llu s peer=%s",
		    link->call ? "its body or its answer is" : "a request is",
		    (unsigned long long)((now_us - link->since_us) / USEC_PER_SEC), peer);
}

/* A port check without data is not worth a line. */
static bool has_said(const struct link *link)
{
	struct tcp_info info = { 0 };
	socklen_t length = sizeof(info);

	return getsockopt(link->fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
	       info.tcpi_data_segs_in > 0;
}

void api_say_unread(const struct link *link)
{
	CLEANUP(freep) char *peer = NULL;

	if (link->asked || link->cut || link->api->closing || !has_said(link) ||
	    !api_tells(link->api, API_SAY_UNREAD))
		return;
	peer = name_of_peer(link);
	log_warning("%s peer=%s",
		    link->api->options.tls_cert ? "closed: not TLS, or not a valid request"
						: "closed: not a valid request",
		    peer);
}
