/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/net/http_inside.h"
#include "lib/net/tcp.h"

/* Of libcurl, for each request; the default is 64 KiB up and 16 KiB down. */
enum { BUFFER_SIZE = 16 * 1024 };

/* libcurl keeps what it read of a CA file for a day: too long for one that is rotated. */
enum { CA_CACHE_S = 300 };

#if LIBCURL_VERSION_NUM >= 0x075500
#define OPTION_PROTOCOLS CURLOPT_PROTOCOLS_STR
#define ONLY_HTTP "http,https"
#else
#define OPTION_PROTOCOLS CURLOPT_PROTOCOLS
#define ONLY_HTTP (CURLPROTO_HTTP | CURLPROTO_HTTPS)
#endif

/* A name server that does not answer must not hold up the end of the program. */
#if LIBCURL_VERSION_NUM >= 0x075700
#define OPTION_QUICK_EXIT CURLOPT_QUICK_EXIT
#define OPTION_CA_CACHE CURLOPT_CA_CACHE_TIMEOUT
#else
#define OPTION_QUICK_EXIT CURLOPT_NOSIGNAL	  /* set anyway */
#define OPTION_CA_CACHE CURLOPT_DNS_CACHE_TIMEOUT /* nothing is kept that long */
#endif

/*
 * libcurl sends a request again by itself when a kept connection turns out to
 * be closed. One that was under way for longer than this had a peer, which is
 * gone: who waits for it wants to know that now, not after another attempt.
 */
#define RESEND_WITHIN_US (1 * USEC_PER_SEC)

/* --- what a request brings ------------------------------------------------ */

bool http_streams(const struct http_request *request)
{
	long status = 0;

	(void)curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
	return request->piece && status >= 200 && status < 300;
}

/* A piece is told later: who is told may send and cancel, which libcurl forbids from here. */
static size_t on_body(char *bytes, size_t size, size_t n, void *context)
{
	struct http_request *request = context;

	if (strbuf_add(&request->answer, bytes, size * n) < 0) {
		request->too_big = true;
		return 0;
	}
	if (request->piece)
		request->http->pieces = true;
	return size * n;
}

static void take_wanted(struct http_request *request, const char *line, size_t len)
{
	const size_t name_len = strlen(request->want);
	size_t at = name_len + 1;

	if (len < at || strncasecmp(line, request->want, name_len) != 0 || line[name_len] != ':')
		return;
	while (at < len && strchr(" \t", line[at]))
		at++;
	while (len > at && strchr(" \t\r\n", line[len - 1]))
		len--;
	len = MIN(len - at, sizeof(request->wanted) - 1);
	memcpy(request->wanted, line + at, len);
	request->wanted[len] = '\0';
	(void)ascii_clean(request->wanted);
}

static size_t on_header(char *bytes, size_t size, size_t n, void *context)
{
	struct http_request *request = context;

	request->header_bytes += size * n;
	if (request->header_bytes > HTTP_HEADERS_MAX) {
		request->too_big = true;
		return 0;
	}
	if (request->want)
		take_wanted(request, bytes, size * n);
	return size * n;
}

static int on_new_socket(void *context, curl_socket_t fd, curlsocktype purpose UNUSED)
{
	struct http_request *request = context;
	long sent_bytes = 0;

	(void)curl_easy_getinfo(request->easy, CURLINFO_REQUEST_SIZE, &sent_bytes);
	request->lost = sent_bytes > 0 && clock_mono_us() - request->start_us > RESEND_WITHIN_US;
	if (request->lost)
		return CURL_SOCKOPT_ERROR;
	tcp_watch_peer(fd);
	return CURL_SOCKOPT_OK;
}

/* --- options -------------------------------------------------------------- */

static int add_header(struct http_request *request, const char *header)
{
	struct curl_slist *longer = curl_slist_append(request->headers, header);

	if (!longer)
		return -ENOMEM;
	request->headers = longer;
	return 0;
}

static int set_headers(struct http_request *request, const struct http_call *call, struct err *err)
{
	struct token_file *token = &request->http->token;
	const char *const *h;
	int r = 0;

	/* No "100 Continue" for larger bodies: it costs a round trip. */
	if (call->body)
		r = add_header(request, "Expect:");
	if (r == 0 && token->path) {
		r = token_file_refresh(token, err);
		if (r < 0)
			return r;
		r = add_header(request, token->header);
	}
	for (h = call->headers; r == 0 && h && *h; h++)
		r = add_header(request, *h);
	return r < 0 ? err_set(err, ENOMEM, "out of memory") : 0;
}

/* Set an option of `request`; the first failure sticks in `code`. */
#define SET(option, value)                                                     \
	do {                                                                   \
		if (code == CURLE_OK)                                          \
			code = curl_easy_setopt(request->easy, option, value); \
	} while (0)

static CURLcode set_transport(struct http_request *request, const struct http_call *call)
{
	const struct {
		CURLoption option;
		long value;
	} numbers[] = {
		{ CURLOPT_NOSIGNAL, 1 },
		{ OPTION_QUICK_EXIT, 1 },
		{ CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1 },
		{ CURLOPT_BUFFERSIZE, BUFFER_SIZE },
		{ CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_SIZE },
		{ CURLOPT_CONNECTTIMEOUT_MS, HTTP_CONNECT_TIMEOUT_MS },
		{ CURLOPT_TIMEOUT_MS, (long)(call->timeout_us / USEC_PER_MSEC) },
	};
	CURLcode code = CURLE_OK;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		SET(numbers[i].option, numbers[i].value);
	SET(CURLOPT_PROXY, "");
	SET(OPTION_PROTOCOLS, ONLY_HTTP);
	SET(CURLOPT_SOCKOPTFUNCTION, on_new_socket);
	SET(CURLOPT_SOCKOPTDATA, request);
	return code;
}

static CURLcode set_pem(struct http_request *request, CURLoption option, char *pem)
{
	struct curl_blob blob = { .data = pem, .len = strlen(pem), .flags = CURL_BLOB_COPY };

	return curl_easy_setopt(request->easy, option, &blob);
}

/* Whom to trust: certificates that were named are not among the system's, but instead of them. */
static CURLcode set_trust(struct http_request *request)
{
	const struct http *http = request->http;
	CURLcode code = CURLE_OK;

	SET(OPTION_CA_CACHE, (long)CA_CACHE_S);
	if (http->ca_file || http->ca_pem)
		SET(CURLOPT_CAPATH, NULL);
	if (code == CURLE_OK && http->ca_pem)
		code = set_pem(request, CURLOPT_CAINFO_BLOB, http->ca_pem);
	else if (http->ca_file)
		SET(CURLOPT_CAINFO, http->ca_file);
	if (http->insecure) {
		SET(CURLOPT_SSL_VERIFYPEER, 0L);
		SET(CURLOPT_SSL_VERIFYHOST, 0L);
	}
	return code;
}

static CURLcode set_identity(struct http_request *request)
{
	const struct http *http = request->http;
	CURLcode code = CURLE_OK;

	if (http->user_agent)
		SET(CURLOPT_USERAGENT, http->user_agent);
	if (http->cert_pem) {
		code = set_pem(request, CURLOPT_SSLCERT_BLOB, http->cert_pem);
		return code == CURLE_OK ? set_pem(request, CURLOPT_SSLKEY_BLOB, http->key_pem)
					: code;
	}
	if (http->cert_file)
		SET(CURLOPT_SSLCERT, http->cert_file);
	if (http->key_file)
		SET(CURLOPT_SSLKEY, http->key_file);
	return code;
}

/* Under another name, which is all that TLS sees, to the host and port of the URL. */
static int set_named_url(struct http_request *request, CURLU *url, const char *name)
{
	CLEANUP(freep) char *connect_to = NULL;
	char *host = NULL, *port = NULL, *named = NULL;
	int r = -EINVAL;

	if (curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
	    curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
	    curl_url_set(url, CURLUPART_HOST, name, 0) == CURLUE_OK &&
	    curl_url_get(url, CURLUPART_URL, &named, 0) == CURLUE_OK &&
	    curl_easy_setopt(request->easy, CURLOPT_URL, named) == CURLE_OK) {
		connect_to = xasprintf("::%s:%s", host, port);
		request->connect_to = curl_slist_append(NULL, connect_to);
		r = request->connect_to && curl_easy_setopt(request->easy, CURLOPT_CONNECT_TO,
							    request->connect_to) == CURLE_OK
			    ? 0
			    : -ENOMEM;
	}
	curl_free(host);
	curl_free(port);
	curl_free(named);
	return r;
}

static CURLcode set_url(struct http_request *request, const char *text)
{
	const char *name = request->http->server_name;
	CURLU *url;
	int r;

	if (!name)
		return curl_easy_setopt(request->easy, CURLOPT_URL, text);
	url = curl_url();
	if (!url)
		return CURLE_OUT_OF_MEMORY;
	r = curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK
		    ? set_named_url(request, url, name)
		    : -EINVAL;
	curl_url_cleanup(url);
	return r == 0 ? CURLE_OK : r == -ENOMEM ? CURLE_OUT_OF_MEMORY : CURLE_URL_MALFORMAT;
}

static CURLcode set_exchange(struct http_request *request, const struct http_call *call)
{
	CURLcode code = set_url(request, call->url);

	if (call->body) {
		SET(CURLOPT_POSTFIELDS, call->body);
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_len);
	}
	if (!streq(call->method, call->body ? "POST" : "GET"))
		SET(CURLOPT_CUSTOMREQUEST, call->method);
	SET(CURLOPT_HTTPHEADER, request->headers);
	return code;
}

static CURLcode set_callbacks(struct http_request *request)
{
	CURLcode code = CURLE_OK;

	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, request);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, request);
	SET(CURLOPT_ERRORBUFFER, request->detail);
	SET(CURLOPT_PRIVATE, request);
	return code;
}

int http_setup(struct http_request *request, const struct http_call *call, struct err *err)
{
	CURLcode code;
	int r = set_headers(request, call, err);

	if (r < 0)
		return r;
	code = set_transport(request, call);
	if (code == CURLE_OK)
		code = set_trust(request);
	if (code == CURLE_OK)
		code = set_identity(request);
	if (code == CURLE_OK)
		code = set_exchange(request, call);
	if (code == CURLE_OK)
		code = set_callbacks(request);
	return code == CURLE_OK ? 0
				: err_set(err, EINVAL, "%s %s: %s", call->method, call->url,
					  curl_easy_strerror(code));
}
