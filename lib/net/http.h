/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous HTTP/1.1 requests on an sd-event loop, through libcurl's multi
 * interface. Only lib/net/http*.c know libcurl.
 *
 *	http_new(event, &options, &http, &err);
 *	r = http_send(http, &(struct http_call){ .method = "GET", .url = url,
 *		.timeout_us = ..., .answer_max = ..., .done = on_answer,
 *		.context = self }, &request, &err);
 *
 * `done` is called once for each request that http_send() took, from the loop
 * and never from within http_send(), unless the request is cancelled. It may
 * send and cancel; it may not free the struct http. The same holds for `piece`.
 *
 * Connections are kept and reused. A peer that is gone without a word is
 * noticed within seconds (lib/net/tcp.h). Redirects
 * are not followed, proxies of the environment are not used, answers are not
 * unpacked, cookies are not kept. The Bearer token is read again when its file
 * changes and after a 401, so that rotated tokens need no restart; a CA file is read again
 * within minutes.
 *
 * HTTP/1.1 on purpose: each request under way has a connection of its own, so
 * that one which hangs, or an answer that nobody reads, holds up no other; and
 * libcurl told an HTTP/2 answer that was cut from a whole one only from 8.0 on.
 *
 * Programs that use it ignore SIGPIPE and block the signals of their loop
 * first: libcurl resolves names in a thread.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/net/http_certificate.h"

struct err;
struct http;
struct http_request;
struct sd_event;

enum {
	HTTP_CONNECT_TIMEOUT_MS = 10000,  /* name, TCP and TLS */
	HTTP_HEADERS_MAX = 64 * 1024,	  /* bytes of an answer's header */
	HTTP_RETRY_AFTER_MAX_S = 60 * 60, /* a server's wish beyond this is cut */
	HTTP_URL_MAX = 4096,
	HTTP_WANTED_MAX = 256,	   /* bytes of a wanted header, cut beyond */
	HTTP_KEPT_CONNECTIONS = 4, /* idle ones, unless the options say otherwise */
};

struct http_options {	       /* all may be NULL, false or 0; copied */
	const char *ca_file;   /* PEM; NULL: the system's, and else those alone */
	const char *ca_pem;    /* the same as a text; before the file */
	const char *cert_file; /* our certificate, PEM, with key_file */
	const char *key_file;
	const char *cert_pem; /* the same as texts; before the files */
	const char *key_pem;
	const char *token_file; /* Authorization: Bearer */
	const char *user_agent;
	const char *server_name;   /* in the server's certificate, when it is not the URL's host */
	bool insecure;		   /* the server's certificate is not looked at */
	unsigned kept_connections; /* 0: HTTP_KEPT_CONNECTIONS */
};

struct http_answer {
	int r;		  /* 0: a whole answer came; else a negative errno, and `why` */
	const char *why;  /* a sentence when r < 0: "POST https://c/v1: connection refused" */
	unsigned status;  /* of a whole answer, else 0 */
	const char *body; /* never NULL, NUL after `len` bytes; borrowed */
	size_t len;
	uint64_t retry_after_us;  /* Retry-After, 0 when absent */
	const char *content_type; /* never NULL; borrowed */
	const struct http_certificate
		*certificate; /* of a whole answer when it was asked for; else NULL */
	const char *wanted;   /* the value of the header of `want`; never NULL; borrowed */
};

typedef void http_done_fn(void *context, const struct http_answer *answer);

/*
 * Told every piece of an answer's body as it comes, before `done`. False cuts it
 * off: `done` is told -ECANCELED. `bytes` are borrowed until it returns, even when
 * it cancels its own request.
 */
typedef bool http_piece_fn(void *context, const char *bytes, size_t len);

struct http_call {
	const char *method; /* "GET", "POST", "PUT", "PATCH", "DELETE" */
	const char *url;
	const char *const *headers; /* "Name: value", NULL-terminated; may be NULL; copied */
	const char *want;	    /* a header of the answer that is wanted, static, or NULL */
	bool certificate;	    /* tell what the server showed */
	const char *body;	    /* borrowed until `done` or the cancellation; NULL: none */
	size_t body_len;
	uint64_t timeout_us; /* for the whole exchange */
	size_t answer_max;   /* bytes of the answer's body; more is -EFBIG */
	/*
	 * Given: an answer of status 2xx is told in pieces and `done` sees no body of it. No more
	 * than `answer_max` bytes wait to be told.
	 */
	http_piece_fn *piece;
	http_done_fn *done;
	void *context;
};

/*
 * -EINVAL, with a sentence, for a certificate without a key; -ENOMEM. Files
 * are first opened by a request.
 */
int http_new(struct sd_event *event, const struct http_options *options, struct http **ret,
	     struct err *err);

/* Cancels what is under way. */
void http_free(struct http *http);
DEFINE_CLEANUP(struct http *, http_free, http_freep);

/* Trust the certificates in `ca_pem` (copied) and no others, from the next connection on. */
void http_trust(struct http *http, const char *ca_pem);

/*
 * Start a request. `ret_request` (may be NULL) is valid until `done` is called
 * or it is cancelled. Negative when it cannot even start (the token file
 * cannot be read): `done` is then never called.
 *
 * Errors that `done` sees: -ECONNREFUSED (and what connect(2) says),
 * -EHOSTUNREACH (name), -ETIMEDOUT, -ECONNRESET (cut, half an answer),
 * -EKEYREJECTED (the server's certificate), -EPROTO (TLS, not HTTP), -EFBIG,
 * -EINVAL (URL, our files), -ECANCELED (`piece`), -EIO (anything else).
 */
int http_send(struct http *http, const struct http_call *call, struct http_request **ret_request,
	      struct err *err);

/* Forget a request: `done` is not called. NULL is fine. */
void http_cancel(struct http_request *request);
