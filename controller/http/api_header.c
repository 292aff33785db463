/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/api_header.h"

#include <arpa/inet.h>
#include <strings.h>

#include "controller/http/api_inside.h"

enum { HOST_SIZE = 256 };

/* What the header says about the body. */
struct framing {
	unsigned lengths, encodings;
	bool bad_length, bad_encoding; /* not digits, not "chunked" */
	bool bad_line;		       /* invalid name, or control character */
};

/* RFC 9110 5.6.2. */
static bool is_token(const char *name)
{
	static const char allowed[] = "!#$%&'*+-.^_`|~0123456789"
				      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return *name && name[strspn(name, allowed)] == '\0';
}

static bool has_control(const char *value)
{
	for (; *value; value++) {
		if (((unsigned char)*value < ' ' && *value != '\t') || *value == 0x7f)
			return true;
	}
	return false;
}

/* A folded line: the library adds it to the name (0.9.75), not to the value. */
static bool is_folded(const char *name)
{
	static const char *const names[] = { "Content-Length", "Transfer-Encoding" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (strncasecmp(name, names[i], strlen(names[i])) == 0 && name[strlen(names[i])])
			return true;
	}
	return false;
}

static enum MHD_Result note_line(void *context, enum MHD_ValueKind kind UNUSED, const char *name,
				 const char *value)
{
	struct framing *f = context;

	value = value ? value : "";
	f->bad_line |= !is_token(name) || is_folded(name) || has_control(value);
	if (strcasecmp(name, "Content-Length") == 0) {
		f->lengths++;
		f->bad_length |= !*value || value[strspn(value, "0123456789")] != '\0';
	} else if (strcasecmp(name, "Transfer-Encoding") == 0) {
		f->encodings++;
		f->bad_encoding |= strcasecmp(value, "chunked") != 0;
	}
	return MHD_YES;
}

static const char *fault_of(const struct framing *f, const char *version)
{
	if (f->bad_line)
		return "a header line has an invalid name or a control character";
	if (f->lengths > 1)
		return "Content-Length: given more than once";
	if (f->lengths > 0 && f->encodings > 0)
		return "Content-Length and Transfer-Encoding: expected only one of them";
	if (f->bad_length)
		return "Content-Length: expected digits";
	if (f->encodings > 1 || f->bad_encoding)
		return "Transfer-Encoding: expected chunked, once, or none";
	if (f->encodings > 0 && !streq(version, MHD_HTTP_VERSION_1_1))
		return "Transfer-Encoding: needs HTTP/1.1";
	return NULL;
}

/* --- origin of pages --- */

/* "name:port" or "[::1]:port" without port and brackets. */
static void strip_port(const char *text, char ret[static HOST_SIZE])
{
	const char *begin = *text == '[' ? text + 1 : text;
	size_t length = strcspn(begin, *text == '[' ? "]" : ":/");

	length = MIN(length, (size_t)HOST_SIZE - 1);
	memcpy(ret, begin, length);
	ret[length] = '\0';
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), n = strlen(end);

	return length > n && strcasecmp(text + length - n, end) == 0;
}

/* Can it only mean us? An address, or a name outside the public DNS (RFC 6761 6.3). */
static bool is_local(const char *host)
{
	char name[HOST_SIZE];
	unsigned char bytes[sizeof(struct in6_addr)];

	strip_port(host, name);
	return !strchr(name, '.') || ends_with(name, ".localhost") ||
	       ends_with(name, ".localdomain") || inet_pton(AF_INET, name, bytes) == 1 ||
	       inet_pton(AF_INET6, name, bytes) == 1;
}

/* A page of ours has the same host and port as the request. */
static bool is_own_page(const char *origin, const char *host)
{
	const char *place = strstr(origin, "://");

	return place && host && strcasecmp(place + 3, host) == 0;
}

static const char *stranger_of(const struct call *call)
{
	const char *host = call_header(call, "Host"), *origin = call_header(call, "Origin");
	const char *site = call_header(call, "Sec-Fetch-Site");

	if (host && !is_local(host))
		return "Host: without tokens only localhost and IP addresses are answered";
	if (origin && !is_own_page(origin, host))
		return "Origin: without tokens, requests from web pages are refused";
	if (site && (strcasecmp(site, "cross-site") == 0 || strcasecmp(site, "same-site") == 0))
		return "Sec-Fetch-Site: without tokens, requests from web pages are refused";
	return NULL;
}

/* ... and scheme: over TLS a page loaded without is not ours. */
static bool is_our_origin(const struct call *call, const char *origin)
{
	const bool https = starts_with(origin, "https://");

	return (https || !call->api->options.tls_cert) &&
	       is_own_page(origin, call_header(call, "Host"));
}

enum api_page api_page_of(const struct call *call)
{
	const char *site = call_header(call, "Sec-Fetch-Site"),
		   *origin = call_header(call, "Origin");

	if (site && strcasecmp(site, "same-origin") != 0 && strcasecmp(site, "none") != 0)
		return API_PAGE_OTHER;
	if (origin && !is_our_origin(call, origin))
		return API_PAGE_OTHER;
	return origin || (site && strcasecmp(site, "none") != 0) ? API_PAGE_OURS : API_PAGE_UNTOLD;
}

void api_header_check(struct call *call, const char *version)
{
	struct framing framing = { 0 };
	const char *fault;

	(void)MHD_get_connection_values(call->connection, MHD_HEADER_KIND, note_line, &framing);
	fault = fault_of(&framing, version);
	if (fault) {
		call_close(call);
		call_refuse(call, 400, "%s", fault);
		return;
	}
	fault = call->api->options.open_to_host ? stranger_of(call) : NULL;
	if (fault)
		call_refuse(call, 403, "%s", fault);
}
