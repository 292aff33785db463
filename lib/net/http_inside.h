/* SPDX-License-Identifier: Apache-2.0 */
/* What lib/net/http*.c share: a client, its requests, and their way to and from libcurl. */
#pragma once

#include <sys/queue.h>

#include <curl/curl.h>

#include "lib/base/strbuf.h"
#include "lib/net/http.h"
#include "lib/net/http_loop.h"
#include "lib/net/token_file.h"

struct http_request {
	LIST_ENTRY(http_request) link;
	struct http *http;
	CURL *easy;
	struct curl_slist *headers, *connect_to;
	struct strbuf answer; /* the body, or what of it waits to be told */
	size_t header_bytes;
	char method[16];
	char *url;
	char detail[CURL_ERROR_SIZE]; /* filled by libcurl */
	const char *want;
	char wanted[HTTP_WANTED_MAX];
	bool too_big;
	bool lost; /* its connection, while it was under way */
	uint64_t start_us;
	http_piece_fn *piece;
	http_done_fn *done;
	void *context;
};

struct http {
	struct http_loop loop;
	LIST_HEAD(, http_request) requests;
	struct http_request *telling; /* whose `piece` is running; NULL once it is cancelled */
	bool pieces;		      /* some wait to be told */
	char *ca_file, *ca_pem, *cert_file, *key_file, *cert_pem, *key_pem;
	char *user_agent, *server_name;
	bool insecure;
	struct token_file token;
};

/* Fill `request->easy`, which is new, by `call`. */
int http_setup(struct http_request *request, const struct http_call *call, struct err *err);

/* True when its answer is told in pieces: the status is known, and 2xx. */
bool http_streams(const struct http_request *request);

/* Set the sentence for why `request` failed; the negative errno. */
int http_explain(const struct http_request *request, CURLcode code, struct err *err);
