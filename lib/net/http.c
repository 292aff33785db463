/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/queue.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/net/http_loop.h"
#include "lib/net/tcp.h"
#include "lib/net/token_file.h"

struct http_request {
	LIST_ENTRY(http_request) link;
	struct http *http;
	CURL *easy;
	struct curl_slist *headers, *connect_to;
	struct strbuf answer; /* the body, or the part not delivered yet */
	size_t header_bytes;
	char method[16];
	char *url;
	char detail[CURL_ERROR_SIZE]; /* filled by libcurl */
	const char *want;
	bool certificate;
	struct http_certificate shown;
	char wanted[HTTP_WANTED_MAX];
	bool too_big;
	bool lost; /* its connection broke during the transfer */
	uint64_t start_us;
	http_piece_fn *piece;
	http_done_fn *done;
	void *context;
};

struct http {
	struct http_loop loop;
	LIST_HEAD(, http_request) requests;
	struct http_request *telling; /* its `piece` is running; NULL once cancelled */
	bool pieces;		      /* some are waiting for delivery */
	char *ca_file, *ca_pem, *cert_file, *key_file, *cert_pem, *key_pem;
	char *user_agent, *server_name;
	bool insecure;
	struct token_file token;
};

static const struct failure {
	CURLcode code;
	int error;
	const char *what;
} failures[] = {
	{ CURLE_COULDNT_RESOLVE_HOST, EHOSTUNREACH, "cannot resolve the host name" },
	{ CURLE_COULDNT_CONNECT, ECONNREFUSED, "cannot connect" },
	{ CURLE_OPERATION_TIMEDOUT, ETIMEDOUT, "timed out" },
	{ CURLE_PEER_FAILED_VERIFICATION, EKEYREJECTED,
	  "the certificate of the server is not trusted" },
	{ CURLE_SSL_CACERT_BADFILE, EINVAL, "the CA file cannot be used" },
	{ CURLE_SSL_CERTPROBLEM, EINVAL, "the client certificate cannot be used" },
	{ CURLE_SSL_CONNECT_ERROR, EPROTO, "TLS cannot be set up" },
	{ CURLE_GOT_NOTHING, ECONNRESET, "the connection was closed before an answer" },
	{ CURLE_PARTIAL_FILE, ECONNRESET, "the connection was closed during the answer" },
	{ CURLE_RECV_ERROR, ECONNRESET, "the connection was closed" },
	{ CURLE_SEND_ERROR, ECONNRESET, "the connection was closed" },
	{ CURLE_WEIRD_SERVER_REPLY, EPROTO, "the answer is not HTTP" },
	{ CURLE_UNSUPPORTED_PROTOCOL, EINVAL, "the URL is neither http nor https" },
	{ CURLE_URL_MALFORMAT, EINVAL, "not a URL" },
	{ CURLE_OUT_OF_MEMORY, ENOMEM, "out of memory" },
};

/* Sets the reason why `request` failed; returns the negative errno. */
static int http_explain(const struct http_request *request, CURLcode code, struct err *err)
{
	const char *detail = request->detail[0] ? request->detail : curl_easy_strerror(code);
	const char *peer = NULL;
	long os_error = 0;
	size_t i;

	if (request->too_big)
		return err_set(err, EFBIG, "%s %s: the answer is larger than %zu bytes",
			       request->method, request->url, request->answer.limit);
	if (request->lost)
		return err_set(err, ECONNRESET, "%s %s: the connection was lost", request->method,
			       request->url);
	(void)curl_easy_getinfo(request->easy, CURLINFO_OS_ERRNO, &os_error);
	(void)curl_easy_getinfo(request->easy, CURLINFO_PRIMARY_IP, &peer);
	/* Once connected, "unsupported" is the peer's protocol. */
	if (code == CURLE_UNSUPPORTED_PROTOCOL && peer && *peer)
		code = CURLE_WEIRD_SERVER_REPLY;
	for (i = 0; i < ARRAY_SIZE(failures) && failures[i].code != code; i++)
		;
	if (i == ARRAY_SIZE(failures))
		return err_set(err, EIO, "%s %s: %s", request->method, request->url, detail);
	if (code == CURLE_COULDNT_CONNECT && os_error)
		return err_errno(err, (int)os_error, "%s %s: %s", request->method, request->url,
				 failures[i].what);
	return err_set(err, failures[i].error, "%s %s: %s (%s)", request->method, request->url,
		       failures[i].what, detail);
}

/* libcurl's buffers per request; the default is 64 KiB up and 16 KiB down. */
enum { BUFFER_SIZE = 16 * 1024 };

/* libcurl caches a CA file for a day, too long if it is rotated. */
enum { CA_CACHE_S = 300 };

#if LIBCURL_VERSION_NUM >= 0x075500
#define OPTION_PROTOCOLS CURLOPT_PROTOCOLS_STR
#define ONLY_HTTP "http,https"
#else
#define OPTION_PROTOCOLS CURLOPT_PROTOCOLS
#define ONLY_HTTP (CURLPROTO_HTTP | CURLPROTO_HTTPS)
#endif

/* An unresponsive name server must not delay the end of the program. */
#if LIBCURL_VERSION_NUM >= 0x075700
#define OPTION_QUICK_EXIT CURLOPT_QUICK_EXIT
#define OPTION_CA_CACHE CURLOPT_CA_CACHE_TIMEOUT
#else
#define OPTION_QUICK_EXIT CURLOPT_NOSIGNAL	  /* set anyway */
#define OPTION_CA_CACHE CURLOPT_DNS_CACHE_TIMEOUT /* nothing is kept that long */
#endif

/*
 * libcurl retries by itself if a kept connection turns out to be closed. A request that was pending
 * for longer than this had a peer, which is now gone: report that at once, without another attempt.
 */
#define RESEND_WITHIN_US (1 * USEC_PER_SEC)

/* --- receiving ------------------------------------------------------------ */

/* True if its answer is delivered in pieces: the status is known, and 2xx. */
static bool http_streams(const struct http_request *request)
{
	long status = 0;

	(void)curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
	return request->piece && status >= 200 && status < 300;
}

/* Pieces are delivered later: the receiver may send and cancel, which libcurl forbids here. */
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

/* Sets an option of `request`; `code` keeps the first failure. */
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
	if (call->certificate)
		SET(CURLOPT_CERTINFO, 1L);
	SET(CURLOPT_SOCKOPTFUNCTION, on_new_socket);
	SET(CURLOPT_SOCKOPTDATA, request);
	return code;
}

static CURLcode set_pem(struct http_request *request, CURLoption option, char *pem)
{
	struct curl_blob blob = { .data = pem, .len = strlen(pem), .flags = CURL_BLOB_COPY };

	return curl_easy_setopt(request->easy, option, &blob);
}

/* Certificates given explicitly replace the system's, rather than being added. */
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

/* Connects to the host and port of the URL under another name, which only TLS sees. */
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

/* Sets up the new `request->easy` for `call`. */
static int http_setup(struct http_request *request, const struct http_call *call, struct err *err)
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

enum { STATUS_LEAST = 100, STATUS_UNAUTHORIZED = 401, STATUS_MOST = 599 };

static void request_free(struct http_request *request)
{
	if (request->http->telling == request)
		request->http->telling = NULL;
	LIST_REMOVE(request, link);
	if (request->easy) {
		(void)curl_multi_remove_handle(request->http->loop.multi, request->easy);
		curl_easy_cleanup(request->easy);
	}
	curl_slist_free_all(request->headers);
	curl_slist_free_all(request->connect_to);
	strbuf_release(&request->answer);
	free(request->url);
	free(request);
}

/* --- answers --------------------------------------------------------------- */

/* Delivers what arrived of a streamed answer. `request` may be gone afterwards. */
static void tell_piece(struct http_request *request)
{
	struct http *http = request->http;
	struct strbuf piece = request->answer;
	struct http_answer answer = { .body = "", .content_type = "", .wanted = "" };
	struct err err = ERR_INIT;
	bool more, alive;

	/* Take the bytes over during delivery: the request may be cancelled meanwhile. */
	request->answer = (struct strbuf)STRBUF_INIT(piece.limit);
	http->telling = request;
	more = request->piece(request->context, strbuf_text(&piece), piece.len);
	alive = http->telling == request;
	http->telling = NULL;
	strbuf_release(&piece);
	if (!alive || more)
		return;
	answer.r = err_set(&err, ECANCELED, "%s %s: cut off", request->method, request->url);
	answer.why = err.msg;
	request->done(request->context, &answer);
	request_free(request);
}

/* The receiver may send and cancel: start over after each. */
static void tell_pieces(struct http *http)
{
	struct http_request *request;

	while (http->pieces) {
		LIST_FOREACH(request, &http->requests, link)
		{
			if (request->piece && request->answer.len && http_streams(request))
				break;
		}
		if (request)
			tell_piece(request);
		else
			http->pieces = false;
	}
}

static void fill(struct http_request *request, unsigned status, struct http_answer *answer)
{
	curl_off_t retry_after_s = 0;
	const char *content_type = NULL;

	(void)curl_easy_getinfo(request->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	(void)curl_easy_getinfo(request->easy, CURLINFO_CONTENT_TYPE, &content_type);
	answer->status = status;
	answer->body = strbuf_text(&request->answer);
	answer->len = request->answer.len;
	answer->content_type = content_type ? content_type : "";
	answer->wanted = request->wanted;
	if (request->certificate) {
		http_certificate_read(request->easy, &request->shown);
		answer->certificate = &request->shown;
	}
	answer->retry_after_us =
		(uint64_t)MIN(MAX(retry_after_s, 0), HTTP_RETRY_AFTER_MAX_S) * USEC_PER_SEC;
}

static void finish(struct http_request *request, CURLcode code)
{
	struct err err = ERR_INIT;
	struct http_answer answer = { .body = "", .content_type = "", .wanted = "" };
	long status = 0;

	(void)curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
	/* libcurl accepts "HTTP/2 1530" as an answer. */
	if (code == CURLE_OK && (status < STATUS_LEAST || status > STATUS_MOST))
		code = CURLE_WEIRD_SERVER_REPLY;
	if (code == CURLE_OK) {
		fill(request, (unsigned)status, &answer);
		/* A rejected token may have been replaced by now. */
		if (status == STATUS_UNAUTHORIZED)
			token_file_forget(&request->http->token);
	} else {
		answer.r = http_explain(request, code, &err);
		answer.why = err.msg;
	}
	request->done(request->context, &answer);
	request_free(request);
}

/* Completes finished requests. `done` may send and cancel: start over each time. */
static void reap(void *context)
{
	struct http *http = context;
	CURLMsg *message;
	int left;

	tell_pieces(http);
	while ((message = curl_multi_info_read(http->loop.multi, &left))) {
		struct http_request *request = NULL;
		CURLcode code = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &request);
		finish(request, code);
	}
}

/* --- sending --------------------------------------------------------------- */

static int start(struct http_request *request, const struct http_call *call, struct err *err)
{
	CURLMcode added;
	int r;

	request->easy = curl_easy_init();
	if (!request->easy)
		return err_set(err, ENOMEM, "out of memory");
	r = http_setup(request, call, err);
	if (r < 0)
		return r;
	added = curl_multi_add_handle(request->http->loop.multi, request->easy);
	return added == CURLM_OK ? 0
				 : err_set(err, EIO, "%s %s: %s", call->method, call->url,
					   curl_multi_strerror(added));
}

int http_send(struct http *http, const struct http_call *call, struct http_request **ret_request,
	      struct err *err)
{
	struct http_request *request;
	int r;

	if (strlen(call->url) > HTTP_URL_MAX)
		return err_set(err, EINVAL, "a URL longer than %d bytes", HTTP_URL_MAX);
	request = xcalloc(1, sizeof(*request));
	*request = (struct http_request){
		.http = http,
		.answer = STRBUF_INIT(call->answer_max),
		.url = xstrdup(call->url),
		.want = call->want,
		.certificate = call->certificate,
		.piece = call->piece,
		.done = call->done,
		.context = call->context,
		.start_us = clock_mono_us(),
	};
	(void)snprintf(request->method, sizeof(request->method), "%s", call->method);
	LIST_INSERT_HEAD(&http->requests, request, link);
	r = start(request, call, err);
	if (r < 0) {
		request_free(request);
		return r;
	}
	if (ret_request)
		*ret_request = request;
	return 0;
}

void http_cancel(struct http_request *request)
{
	if (request)
		request_free(request);
}

/* --- life cycle ---------------------------------------------------------------- */

void http_trust(struct http *http, const char *ca_pem)
{
	free(http->ca_pem);
	http->ca_pem = xstrdup(ca_pem);
}

void http_free(struct http *http)
{
	struct http_request *request;

	if (!http)
		return;
	while ((request = LIST_FIRST(&http->requests)))
		request_free(request);
	http_loop_release(&http->loop);
	free(http->ca_file);
	free(http->ca_pem);
	free(http->cert_file);
	free(http->key_file);
	free(http->cert_pem);
	free(http->key_pem);
	free(http->user_agent);
	free(http->server_name);
	token_file_release(&http->token);
	free(http);
	curl_global_cleanup();
}

int http_new(struct sd_event *event, const struct http_options *options, struct http **ret,
	     struct err *err)
{
	CLEANUP(http_freep) struct http *http = NULL;
	int r;

	if (!options->cert_file != !options->key_file || !options->cert_pem != !options->key_pem)
		return err_set(err, EINVAL,
			       "a client certificate needs its key, and a key its certificate");
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(err, EIO, "libcurl cannot be initialised");
	http = xcalloc(1, sizeof(*http));
	LIST_INIT(&http->requests);
	http->loop.progress = reap;
	http->loop.context = http;
	http->loop.kept = options->kept_connections ? options->kept_connections
						    : HTTP_KEPT_CONNECTIONS;
	http->ca_file = xstrdup(options->ca_file);
	http->ca_pem = xstrdup(options->ca_pem);
	http->cert_file = xstrdup(options->cert_file);
	http->key_file = xstrdup(options->key_file);
	http->cert_pem = xstrdup(options->cert_pem);
	http->key_pem = xstrdup(options->key_pem);
	http->token.path = xstrdup(options->token_file);
	http->user_agent = xstrdup(options->user_agent);
	http->server_name = xstrdup(options->server_name);
	http->insecure = options->insecure;
	r = http_loop_init(&http->loop, event, err);
	if (r < 0)
		return r;
	*ret = TAKE(http);
	return 0;
}
