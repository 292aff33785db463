/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/net/http_inside.h"

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

/* Tell what came of a streamed answer. `request` may be no more then. */
static void tell_piece(struct http_request *request)
{
	struct http *http = request->http;
	struct strbuf piece = request->answer;
	struct http_answer answer = { .body = "", .content_type = "", .wanted = "" };
	struct err err = ERR_INIT;
	bool more, alive;

	/* The bytes are ours while they are told: the request may be cancelled meanwhile. */
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

/* Who is told may send and cancel: begin anew after each. */
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
	answer->retry_after_us =
		(uint64_t)MIN(MAX(retry_after_s, 0), HTTP_RETRY_AFTER_MAX_S) * USEC_PER_SEC;
}

static void finish(struct http_request *request, CURLcode code)
{
	struct err err = ERR_INIT;
	struct http_answer answer = { .body = "", .content_type = "", .wanted = "" };
	long status = 0;

	(void)curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
	/* libcurl takes "HTTP/2 1530" for an answer. */
	if (code == CURLE_OK && (status < STATUS_LEAST || status > STATUS_MOST))
		code = CURLE_WEIRD_SERVER_REPLY;
	if (code == CURLE_OK) {
		fill(request, (unsigned)status, &answer);
		/* Who is not believed may have another by now. */
		if (status == STATUS_UNAUTHORIZED)
			token_file_forget(&request->http->token);
	} else {
		answer.r = http_explain(request, code, &err);
		answer.why = err.msg;
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
		return err_set(err, EINVAL, "a URL of more than %d bytes", HTTP_URL_MAX);
	request = xcalloc(1, sizeof(*request));
	*request = (struct http_request){
		.http = http,
		.answer = STRBUF_INIT(call->answer_max),
		.url = xstrdup(call->url),
		.want = call->want,
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
		return err_set(err, EINVAL, "a client certificate and its key come together");
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
