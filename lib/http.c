/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include <curl/curl.h>

#include "lib/clock.h"
#include "lib/err.h"
#include "lib/http_loop.h"
#include "lib/strbuf.h"
#include "lib/tcp.h"
#include "lib/token_file.h"
#include "lib/xalloc.h"

/* Of libcurl, for each request; the default is 64 KiB up and 16 KiB down. */
enum { BUFFER_SIZE = 16 * 1024 };

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
#else
#define OPTION_QUICK_EXIT CURLOPT_NOSIGNAL /* set anyway */
#endif

struct http_request {
	LIST_ENTRY(http_request) link;
	struct http *http;
	CURL *easy;
	struct curl_slist *headers;
	struct strbuf answer;
	size_t header_bytes;
	char method[16];
	char *url;
	char detail[CURL_ERROR_SIZE]; /* filled by libcurl */
	bool too_big;
	http_done_fn *done;
	void *context;
};

struct http {
	struct http_loop loop;
	LIST_HEAD(, http_request) requests;
	char *ca_file, *cert_file, *key_file, *user_agent;
	struct token_file token;
};

/* --- what a request brings ------------------------------------------------ */

static size_t on_body(char *bytes, size_t size, size_t n, void *context)
{
	struct http_request *request = context;

	if (strbuf_add(&request->answer, bytes, size * n) < 0) {
		request->too_big = true;
		return 0;
	}
	return size * n;
}

static size_t on_header(char *bytes UNUSED, size_t size, size_t n, void *context)
{
	struct http_request *request = context;

	request->header_bytes += size * n;
	if (request->header_bytes > HTTP_HEADERS_MAX) {
		request->too_big = true;
		return 0;
	}
	return size * n;
}

static int on_new_socket(void *context UNUSED, curl_socket_t fd, curlsocktype purpose UNUSED)
{
	tcp_watch_peer(fd);
	return CURL_SOCKOPT_OK;
}

static const struct failure {
	CURLcode code;
	int error;
	const char *what;
} failures[] = {
	{ CURLE_COULDNT_RESOLVE_HOST, EHOSTUNREACH, "the name of the server is not known" },
	{ CURLE_COULDNT_CONNECT, ECONNREFUSED, "cannot connect" },
	{ CURLE_OPERATION_TIMEDOUT, ETIMEDOUT, "no whole answer in time" },
	{ CURLE_PEER_FAILED_VERIFICATION, EKEYREJECTED,
	  "the certificate of the server is not trusted" },
	{ CURLE_SSL_CACERT_BADFILE, EINVAL, "the CA file cannot be used" },
	{ CURLE_SSL_CERTPROBLEM, EINVAL, "the client certificate cannot be used" },
	{ CURLE_SSL_CONNECT_ERROR, EPROTO, "TLS cannot be set up" },
	{ CURLE_GOT_NOTHING, ECONNRESET, "the connection was cut before an answer" },
	{ CURLE_PARTIAL_FILE, ECONNRESET, "the connection was cut within the answer" },
	{ CURLE_RECV_ERROR, ECONNRESET, "the connection was cut" },
	{ CURLE_SEND_ERROR, ECONNRESET, "the connection was cut" },
	{ CURLE_WEIRD_SERVER_REPLY, EPROTO, "the answer is not HTTP" },
	{ CURLE_UNSUPPORTED_PROTOCOL, EINVAL, "the URL is neither http nor https" },
	{ CURLE_URL_MALFORMAT, EINVAL, "not a URL" },
	{ CURLE_OUT_OF_MEMORY, ENOMEM, "out of memory" },
};

/* Set the sentence for why `request` failed; the negative errno. */
static int explain(const struct http_request *request, CURLcode code, struct err *err)
{
	const char *detail = request->detail[0] ? request->detail : curl_easy_strerror(code);
	long os_error = 0;
	size_t i;

	if (request->too_big)
		return err_set(err, EFBIG, "%s %s: the answer is larger than %zu bytes",
			       request->method, request->url, request->answer.limit);
	(void)curl_easy_getinfo(request->easy, CURLINFO_OS_ERRNO, &os_error);
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

static void request_free(struct http_request *request)
{
	LIST_REMOVE(request, link);
	if (request->easy) {
		(void)curl_multi_remove_handle(request->http->loop.multi, request->easy);
		curl_easy_cleanup(request->easy);
	}
	curl_slist_free_all(request->headers);
	strbuf_release(&request->answer);
	free(request->url);
	free(request);
}

static void finish(struct http_request *request, CURLcode code)
{
	struct err err = ERR_INIT;
	struct http_answer answer = { .body = strbuf_text(&request->answer) };
	curl_off_t retry_after_s = 0;
	long status = 0;

	if (code != CURLE_OK) {
		answer.body = "";
		answer.r = explain(request, code, &err);
		answer.why = err.msg;
	} else {
		(void)curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
		(void)curl_easy_getinfo(request->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
		answer.status = (unsigned)status;
		answer.len = request->answer.len;
		answer.retry_after_us =
			(uint64_t)MIN(MAX(retry_after_s, 0), HTTP_RETRY_AFTER_MAX_S) * USEC_PER_SEC;
	}
	request->done(request->context, &answer);
	request_free(request);
}

/* Give away what is complete. `done` may send and cancel: look anew each time. */
static void reap(void *context)
{
	struct http *http = context;
	CURLMsg *message;
	int left;

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
	CURLcode code = CURLE_OK;

	SET(CURLOPT_NOSIGNAL, 1L);
	SET(OPTION_QUICK_EXIT, 1L);
	SET(CURLOPT_PROXY, "");
	SET(OPTION_PROTOCOLS, ONLY_HTTP);
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_BUFFERSIZE, (long)BUFFER_SIZE);
	SET(CURLOPT_UPLOAD_BUFFERSIZE, (long)BUFFER_SIZE);
	SET(CURLOPT_SOCKOPTFUNCTION, on_new_socket);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)HTTP_CONNECT_TIMEOUT_MS);
	SET(CURLOPT_TIMEOUT_MS, (long)(call->timeout_us / USEC_PER_MSEC));
	return code;
}

static CURLcode set_identity(struct http_request *request)
{
	const struct http *http = request->http;
	CURLcode code = CURLE_OK;

	if (http->user_agent)
		SET(CURLOPT_USERAGENT, http->user_agent);
	if (http->ca_file)
		SET(CURLOPT_CAINFO, http->ca_file);
	if (http->cert_file)
		SET(CURLOPT_SSLCERT, http->cert_file);
	if (http->key_file)
		SET(CURLOPT_SSLKEY, http->key_file);
	return code;
}

static CURLcode set_exchange(struct http_request *request, const struct http_call *call)
{
	CURLcode code = CURLE_OK;

	SET(CURLOPT_URL, call->url);
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

static int start(struct http_request *request, const struct http_call *call, struct err *err)
{
	CURLcode code;
	CURLMcode added;
	int r;

	request->easy = curl_easy_init();
	if (!request->easy)
		return err_set(err, ENOMEM, "out of memory");
	r = set_headers(request, call, err);
	if (r < 0)
		return r;
	code = set_transport(request, call);
	if (code == CURLE_OK)
		code = set_identity(request);
	if (code == CURLE_OK)
		code = set_exchange(request, call);
	if (code == CURLE_OK)
		code = set_callbacks(request);
	if (code != CURLE_OK)
		return err_set(err, EINVAL, "%s %s: %s", call->method, call->url,
			       curl_easy_strerror(code));
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
		return err_set(err, EINVAL, "a URL of more than %d bytes", HTTP_URL_MAX);
	request = xcalloc(1, sizeof(*request));
	*request = (struct http_request){
		.http = http,
		.answer = STRBUF_INIT(call->answer_max),
		.url = xstrdup(call->url),
		.done = call->done,
		.context = call->context,
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

void http_free(struct http *http)
{
	struct http_request *request;

	if (!http)
		return;
	while ((request = LIST_FIRST(&http->requests)))
		request_free(request);
	http_loop_release(&http->loop);
	free(http->ca_file);
	free(http->cert_file);
	free(http->key_file);
	free(http->user_agent);
	token_file_release(&http->token);
	free(http);
	curl_global_cleanup();
}

int http_new(struct sd_event *event, const struct http_options *options, struct http **ret,
	     struct err *err)
{
	CLEANUP(http_freep) struct http *http = NULL;
	int r;

	if (!options->cert_file != !options->key_file)
		return err_set(err, EINVAL, "a client certificate and its key come together");
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(err, EIO, "libcurl cannot be initialised");
	http = xcalloc(1, sizeof(*http));
	LIST_INIT(&http->requests);
	http->loop.progress = reap;
	http->loop.context = http;
	http->ca_file = xstrdup(options->ca_file);
	http->cert_file = xstrdup(options->cert_file);
	http->key_file = xstrdup(options->key_file);
	http->token.path = xstrdup(options->token_file);
	http->user_agent = xstrdup(options->user_agent);
	r = http_loop_init(&http->loop, event, err);
	if (r < 0)
		return r;
	*ret = TAKE(http);
	return 0;
}
