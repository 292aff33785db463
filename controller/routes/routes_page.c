/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/routes/routes_page.h"

#include <stdio.h>

#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/http/api_accepts.h"
#include "lib/base/xalloc.h"

enum { TAG_SIZE = PAGE_VERSION_SIZE + 4 };

bool routes_page_is_on(const void *context)
{
	const struct service *s = context;

	return s->page.n > 0;
}

/* Headers that restrict what a browser may do with our files, and pages of others with ours. */
static void add_guards(const struct service *s, struct call *call)
{
	api_add_header(call, "Content-Security-Policy", s->page.policy);
	api_add_header(call, "X-Content-Type-Options", "nosniff");
	api_add_header(call, "X-Frame-Options", "DENY");
	api_add_header(call, "Referrer-Policy", "no-referrer");
	api_add_header(call, "Cross-Origin-Opener-Policy", "same-origin");
	api_add_header(call, "Cross-Origin-Resource-Policy", "same-origin");
}

static void reply_file(struct call *call, const struct page_file *file)
{
	const bool packed = file->gzip && api_accepts_gzip(call_header(call, "Accept-Encoding"));

	api_add_header(call, "Vary", "Accept-Encoding");
	if (packed)
		api_add_header(call, "Content-Encoding", "gzip");
	api_reply_bytes(call, 200, file->type, packed ? file->gzip : file->bytes,
			packed ? file->gzip_length : file->length);
}

/* RFC 9110 13.1.2: weak comparison, as the compressed form is equivalent. */
static bool has_it(const struct call *call, const char *tag)
{
	const char *match = call_header(call, "If-None-Match");

	return match && (streq(match, "*") || strstr(match, tag));
}

void routes_page_index(void *context, struct call *call)
{
	const struct service *s = context;
	char tag[TAG_SIZE];

	(void)snprintf(tag, sizeof(tag), "W/\"%s\"", s->page.version);
	add_guards(s, call);
	api_add_header(call, "ETag", tag);
	api_add_header(call, "Cache-Control", "no-cache");
	if (has_it(call, tag + strlen("W/")))
		call_reply_empty(call, 304);
	else
		reply_file(call, page_files_find(&s->page, "index.html"));
}

void routes_page_top(void *context, struct call *call)
{
	add_guards(context, call);
	api_add_header(call, "Location", "page/");
	call_reply_empty(call, 307);
}

void routes_page_file(void *context, struct call *call)
{
	const struct service *s = context;
	const struct page_file *file = NULL;

	if (streq(call_segment(call), s->page.version))
		file = page_files_find(&s->page, api_second_segment(call));
	add_guards(s, call);
	if (!file) {
		api_add_header(call, "Cache-Control", "no-store");
		call_refuse(call, 404, "the page has no such file: it may be from another version");
		return;
	}
	api_add_header(call, "Cache-Control", "public, max-age=31536000, immutable");
	reply_file(call, file);
}
