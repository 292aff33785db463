/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the handler of a call, and checks the rights of its sender. */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "controller/http/api_inside.h"
#include "controller/http/api_tls.h"
#include "lib/base/xalloc.h"

static void drop_segments(char *segments[static CALL_SEGMENTS_MAX])
{
	size_t i;

	for (i = 0; i < CALL_SEGMENTS_MAX; i++)
		free(TAKE(segments[i]));
}

/* Length of `path` that "{}" matches: a segment or, if `rest` is set and it is the last,
 * everything. */
static size_t hole_length(const char *path, bool last, bool rest)
{
	return last && rest ? strlen(path) : strcspn(path, "/");
}

/* Does `path` match the route? Segments matching "{}" go to `ret_segments`, new memory. */
static bool fits(const struct route *route, const char *path,
		 char *ret_segments[static CALL_SEGMENTS_MAX])
{
	const char *pattern = route->path, *hole;
	size_t n = 0, length;

	while ((hole = strstr(pattern, "{}")) && n < CALL_SEGMENTS_MAX) {
		const size_t before = (size_t)(hole - pattern);

		if (strncmp(pattern, path, before) != 0)
			return false;
		path += before;
		length = hole_length(path, hole[2] == '\0', route->rest);
		if (length == 0)
			return false;
		ret_segments[n++] = xstrndup(path, length);
		path += length;
		pattern = hole + 2;
	}
	return streq(pattern, path);
}

/* RFC 9110 15.5.6: a wrong method is answered with the allowed ones. */
static void allow(struct call *call, const char *method)
{
	size_t used = strlen(call->allow);

	(void)snprintf(call->allow + used, sizeof(call->allow) - used, "%s%s", used ? ", " : "",
		       method);
}

/*
 * RFC 9110 9.3.2: HEAD is allowed wherever GET is; the library omits the body. Not where a GET
 * hands something out: a host's orders would be lost.
 */
static bool has_head(const struct route *route)
{
	return streq(route->method, "GET") && route->role != ROLE_NODE;
}

static bool takes(const struct route *route, const char *method)
{
	return streq(route->method, method) || (streq(method, "HEAD") && has_head(route));
}

void call_find_route(struct call *call, const char *method, const char *url)
{
	const struct api_options *o = &call->api->options;
	bool known = false;
	size_t i;

	for (i = 0; i < o->n_routes; i++) {
		char *segments[CALL_SEGMENTS_MAX] = { NULL };

		if ((o->routes[i].is_there && !o->routes[i].is_there(o->context)) ||
		    !fits(&o->routes[i], url, segments)) {
			drop_segments(segments);
			continue;
		}
		known = true;
		allow(call, o->routes[i].method);
		if (has_head(&o->routes[i]))
			allow(call, "HEAD");
		if (takes(&o->routes[i], method)) {
			memcpy(call->segments, segments, sizeof(segments));
			call->route = &o->routes[i];
			return;
		}
		drop_segments(segments);
	}
	if (known)
		call_refuse(call, 405, "%.16s is not allowed here", method);
	else
		call_refuse(call, 404, "no such path");
}

/* RFC 9110 5.5: blanks around a value are not part of it. */
static char *find_token(const struct call *call)
{
	static const char scheme[] = "Bearer ", blanks[] = " \t";
	const char *value = call_header(call, "Authorization");
	size_t length;

	if (!value || strncasecmp(value, scheme, strlen(scheme)) != 0)
		return NULL;
	value += strlen(scheme);
	value += strspn(value, blanks);
	length = strlen(value);
	while (length > 0 && strchr(blanks, value[length - 1]))
		length--;
	return xstrndup(value, length);
}

const char *call_token(struct call *call)
{
	if (!call->token_known)
		call->token = find_token(call);
	call->token_known = true;
	return call->token;
}

bool api_has_token(struct call *call)
{
	return call_token(call) != NULL;
}

bool api_token_sum(struct call *call, char ret_hex[static SHA256_HEX_SIZE])
{
	const char *token = call_token(call);

	if (token)
		sha256_of_text(token, ret_hex);
	return token != NULL;
}

/* Routes for hosts are not for those with other roles, except admins. */
static bool has_role(const struct identity *who, int role)
{
	if (role == ROLE_NODE)
		return who->role == ROLE_NODE || who->role == ROLE_ADMIN;
	if (role == ROLE_SUBMIT && (who->role == ROLE_READ || who->role == ROLE_NODE))
		return who->role == ROLE_NODE;
	return who->role >= role;
}

/* Message for a token without the role. */
static const char *const role_lacks[] = {
	[ROLE_ANYBODY] = "",
	[ROLE_NODE] = "this token is not a host's, and lacks the role admin",
	[ROLE_SUBMIT] = "this token is not a host's, and lacks the role submit or operate",
	[ROLE_READ] = "this token lacks the role read",
	[ROLE_OPERATE] = "this token lacks the role operate",
	[ROLE_ADMIN] = "this token lacks the role admin",
};
static const char *const role_has[] = {
	[ROLE_ANYBODY] = "nothing", [ROLE_NODE] = "a host's own", [ROLE_SUBMIT] = "submit",
	[ROLE_READ] = "read",	    [ROLE_OPERATE] = "operate",	  [ROLE_ADMIN] = "admin",
};

void call_identify(struct call *call)
{
	const struct api_options *o = &call->api->options;
	struct identity who = { 0 };
	enum api_known known;

	if (call->route->role == ROLE_ANYBODY)
		return;
	if (o->client_ca && !call->link->peer_known) {
		call->link->peer = api_tls_peer(call->connection);
		call->link->peer_known = true;
	}
	known = o->session ? o->session(o->context, call, &who) : API_KNOWN_NOT;
	if (known == API_KNOWN_YES)
		call_identified(call, &who);
	if (known == API_KNOWN_YES || call->answer)
		return;
	known = o->identify(o->context, call_token(call), call->link->peer, &who);
	if (known == API_KNOWN_YES)
		call_identified(call, &who);
	else if (known == API_KNOWN_NOT)
		call_refuse(
			call, 401,
			call_token(call)
				? "unknown token: use another, or add its SHA-256 to tokens.yaml "
				  "and reload the controller"
				: "no token and no client certificate was sent");
	call->unknown = known == API_KNOWN_LATER;
}

void call_identified(struct call *call, const struct identity *who)
{
	call->node = xstrdup(who->node);
	call->name = xstrdup(who->name);
	call->jobs = xstrdup(who->jobs);
	call->identity =
		(struct identity){ who->role, call->node, call->name, call->jobs, who->session };
	if (!has_role(who, call->route->role))
		call_refuse(call, 403, "%s (it has: %s)", role_lacks[call->route->role],
			    role_has[who->role]);
	call_go_on(call);
}

void call_ask(struct call *call)
{
	const struct api_options *o = &call->api->options;

	o->ask(o->context, call, call_token(call));
	if (!call->answer && !call->known)
		call_hold(call, NULL, NULL);
}

void call_origin(const struct call *call, char ret[static CALL_ORIGIN_SIZE])
{
	const struct origin *from = call->link->from;
	size_t i;

	_Static_assert(2 * sizeof(from->address) < CALL_ORIGIN_SIZE, "an address in hexadecimal");
	for (i = 0; i < sizeof(from->address); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", from->address[i]);
}
