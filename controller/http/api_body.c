/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/api_body.h"

#include <stdlib.h>

#include "controller/http/api_accepts.h"
#include "controller/http/api_gzip.h"
#include "controller/http/api_inside.h"
#include "lib/base/xalloc.h"

struct api_body {
	unsigned references;
	char *text, *packed; /* owned; packed: NULL until needed */
	size_t length, packed_length;
	bool tried; /* compression was attempted */
};

struct api_body *api_body_new(char *text, size_t length)
{
	struct api_body *body = xcalloc(1, sizeof(*body));

	*body = (struct api_body){ .references = 1, .text = text, .length = length };
	return body;
}

struct api_body *api_body_again(struct api_body *body)
{
	if (body)
		body->references++;
	return body;
}

void api_body_free(struct api_body *body)
{
	if (!body || --body->references > 0)
		return;
	free(body->text);
	free(body->packed);
	free(body);
}

/* Callback for a piece at `at`. */
static ssize_t give(const char *bytes, size_t length, uint64_t at, char *to, size_t most)
{
	const size_t n = MIN(most, length - (size_t)at);

	memcpy(to, bytes + at, n);
	return (ssize_t)n;
}

static ssize_t give_text(void *context, uint64_t at, char *to, size_t most)
{
	const struct api_body *body = context;

	return give(body->text, body->length, at, to, most);
}

static ssize_t give_packed(void *context, uint64_t at, char *to, size_t most)
{
	const struct api_body *body = context;

	return give(body->packed, body->packed_length, at, to, most);
}

static void sent(void *context)
{
	api_body_free(context);
}

static bool is_packed_for(struct api_body *body, const struct call *call)
{
	if (body->length < API_GZIP_LEAST ||
	    !api_accepts_gzip(call_header(call, MHD_HTTP_HEADER_ACCEPT_ENCODING)))
		return false;
	if (!body->tried)
		body->packed =
			api_gzip(body->text, body->length, API_GZIP_MANY, &body->packed_length);
	body->tried = true;
	return body->packed != NULL;
}

void api_body_reply(struct call *call, struct api_body *body)
{
	const bool packed = is_packed_for(body, call);
	struct MHD_Response *response = MHD_create_response_from_callback(
		packed ? body->packed_length : body->length, API_CONNECTION_MEMORY,
		packed ? give_packed : give_text, body, sent);

	if (!response)
		abort(); /* out of memory */
	(void)api_body_again(body);
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_VARY,
				      MHD_HTTP_HEADER_ACCEPT_ENCODING);
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	if (packed)
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	api_set_answer(call, 200, response);
}
