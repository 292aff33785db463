/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/api_step.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "controller/http/api_header.h"
#include "controller/http/api_inside.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"

/* Largest initial allocation for a body, by its announced length: larger ones may never arrive in
 * full. */
enum { BODY_FIRST_MAX = 64 * 1024 };

static bool body_has_room(const struct call *call, size_t more)
{
	return call->api->counts.body_bytes + more <= API_BODIES_MAX &&
	       call->link->from->body_bytes + more <= API_BODIES_PEER_MAX;
}

static bool says_gzip(struct call *call)
{
	const char *coding = call_header(call, "Content-Encoding");

	if (coding && strcasecmp(coding, "gzip") != 0 && strcasecmp(coding, "identity") != 0)
		call_refuse(call, 415, "Content-Encoding '%.40s': expected gzip or none", coding);
	return coding && strcasecmp(coding, "gzip") == 0;
}

/* Announced length; SIZE_MAX without a valid number. */
static size_t announced(const struct call *call)
{
	const char *text = call_header(call, "Content-Length");
	char *end = NULL;
	unsigned long long value;

	if (!text)
		return 0;
	errno = 0;
	value = strtoull(text, &end, 10);
	return errno || *end ? SIZE_MAX : value;
}

static void check_length(struct call *call)
{
	size_t limit = call->route->body_max;

	if (announced(call) > limit)
		call_refuse(call, 413, "more than %zu bytes", limit);
	else if (!body_has_room(call, announced(call)))
		call_refuse(call, 503, "too many requests at once");
}

static struct call *call_new(struct api *api, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct call *call = xcalloc(1, sizeof(*call));

	call->api = api;
	call->connection = connection;
	call->link = info ? info->socket_context : NULL;
	if (call->link) {
		call->link->call = call;
		call->link->asked = true;
		call->link->since_us = clock_mono_us();
	}
	return call;
}

static enum MHD_Result send_answer(struct call *call)
{
	return MHD_queue_response(call->connection, call->status, call->answer);
}

/*
 * A small refused body is read before the refusal: a peer still writing would see a reset instead
 * of the answer. Not if its end is uncertain.
 */
static enum MHD_Result go_on_to_body(struct call *call)
{
	if (call->answer &&
	    (call->close || announced(call) > API_SWALLOW_MAX || call_header(call, "Expect")))
		return send_answer(call);
	return MHD_YES;
}

/*
 * The library calls with the header once more, or at once with the body or its end; which of them
 * is not documented. Continuing is right in all cases, but only necessary if a body follows.
 */
static bool is_header_again(struct call *call, size_t data_size)
{
	bool again = call->again;

	call->again = false;
	return again && data_size == 0 &&
	       (announced(call) > 0 || call_header(call, "Transfer-Encoding"));
}

/* The header has arrived: find route, sender and length. */
static enum MHD_Result begin(struct call *call, const char *method, const char *url,
			     const char *version)
{
	if (!call->link)
		return MHD_NO;
	(void)snprintf(call->method, sizeof(call->method), "%s", method);
	(void)snprintf(call->path, sizeof(call->path), "%s", url);
	api_header_check(call, version);
	if (!call->answer && call->api->closing)
		call_refuse(call, 503, "the controller is stopping");
	if (!call->answer)
		call_find_route(call, method, url);
	if (!call->answer)
		call_identify(call);
	if (!call->answer)
		check_length(call);
	if (!call->answer)
		call->gzip = says_gzip(call);
	if (call->route)
		call->body.limit = call->route->body_max;
	if (!call->answer && call->unknown)
		call_ask(call);
	return call->held || call->again ? MHD_YES : go_on_to_body(call);
}

static enum MHD_Result take_body(struct call *call, const char *data, size_t size)
{
	if (call->answer) {
		call->swallowed += size;
		return call->swallowed > API_SWALLOW_MAX ? MHD_NO : MHD_YES;
	}
	/* It comes in pieces as small as the library's connection memory. */
	if (call->body.len == 0)
		(void)strbuf_reserve(&call->body, MIN(announced(call), (size_t)BODY_FIRST_MAX));
	if (!body_has_room(call, size)) {
		call_refuse(call, 503, "too many requests at once");
	} else if (strbuf_add(&call->body, data, size) < 0) {
		call_refuse(call, 413, "more than %zu bytes", call->body.limit);
	} else {
		call->api->counts.body_bytes += size;
		call->link->from->body_bytes += size;
	}
	return MHD_YES;
}

enum MHD_Result api_step(void *context, struct MHD_Connection *connection, const char *url,
			 const char *method, const char *version, const char *data,
			 size_t *data_size, void **state)
{ /* lint: allow parameters: the library's callback */
	struct call *call = *state;
	enum MHD_Result result;

	((struct api *)context)->steps++;
	if (!call) {
		*state = call = call_new(context, connection);
		return begin(call, method, url, version);
	}
	if (is_header_again(call, *data_size))
		return go_on_to_body(call);
	if (*data_size > 0) {
		result = take_body(call, data, *data_size);
		*data_size = 0;
		return result;
	}
	if (!call->answer && call->api->closing)
		call_refuse(call, 503, "the controller is stopping"); /* nobody would resume it */
	if (!call->answer && !call->handled) {
		call->handled = true;
		if (api_questions_is_one(call))
			api_questions_put(call);
		else
			call->route->handle(call->api->options.context, call);
		if (call->suspended) /* even if answered by now: we are called again */
			return MHD_YES;
	}
	return call->answer ? send_answer(call) : MHD_NO;
}

void api_step_done(void *context, struct MHD_Connection *connection, void **state,
		   enum MHD_RequestTerminationCode code)
{
	struct call *call = *state;
	size_t i;

	(void)context;
	(void)connection;
	(void)code;
	if (!call)
		return;
	if (call->link) {
		call->link->call = NULL;
		call->link->used = true;
		call->link->since_us = clock_mono_us();
	}
	call_drop_body(call);
	api_drop_lines(call);
	if (call->answer)
		MHD_destroy_response(call->answer);
	for (i = 0; i < CALL_SEGMENTS_MAX; i++)
		free(call->segments[i]);
	if (call->token) /* do not leave it in memory */
		explicit_bzero(call->token, strlen(call->token));
	free(call->token);
	free(call->node);
	free(call->name);
	free(call->jobs);
	free(call);
	*state = NULL;
}
