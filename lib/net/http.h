/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous HTTP/1.1 requests on an sd-event loop, through libcurl's multi interface. Only
 * lib/net/http*.c use libcurl.
 *
 *	http_new(event, &options, &http, &err);
 *	r = http_send(http, &(struct http_call){ .method = "GET", .url = url,
 *		.timeout_us = ..., .answer_max = ..., .done = on_answer,
 *		.context = self }, &request, &err);
 *
 * `done` is called once for each request that http_send() accepted, from the loop and never from
 * within http_send(), unless the request is cancelled. It may send and cancel, but not free the
 * struct http. The same holds for `piece`.
 *
 * Connections are kept and reused. A peer that vanishes is noticed within seconds (lib/net/tcp.h).
 * Redirects are not followed, proxies from the environment are not used, answers are not
 * decompressed, cookies are not kept. The Bearer token is read again when its file changes and
 * after a 401, so rotated tokens need no restart; a CA file is read again within minutes.
 *
 * HTTP/1.1 on purpose: each pending request has its own connection, so one that hangs, or an answer
 * that nobody reads, blocks no other; and libcurl can tell a truncated HTTP/2 answer from a
 * complete one only since 8.0.
 *
 * Programs that use it must first ignore SIGPIPE and block the signals of their loop: libcurl
 * resolves names in a thread.
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
	HTTP_HEADERS_MAX = 64 * 1024,	  /* bytes of an answer's headers */
	HTTP_RETRY_AFTER_MAX_S = 60 * 60, /* longer values are clamped */
	HTTP_URL_MAX = 4096,
	HTTP_WANTED_MAX = 256,	   /* bytes of a wanted header; longer ones are truncated */
	HTTP_KEPT_CONNECTIONS = 4, /* idle ones, unless set in the options */
};

struct http_options {	       /* all may be NULL, false or 0; copied */
	const char *ca_file;   /* PEM; only these are trusted; NULL: the system's */
	const char *ca_pem;    /* the same as text; takes precedence */
	const char *cert_file; /* our certificate, PEM, with key_file */
	const char *key_file;
	const char *cert_pem; /* the same as text; take precedence */
	const char *key_pem;
	const char *token_file; /* Authorization: Bearer */
	const char *user_agent;
	const char *server_name;   /* name in the server's certificate, if not the URL's host */
	bool insecure;		   /* do not verify the server's certificate */
	unsigned kept_connections; /* 0: HTTP_KEPT_CONNECTIONS */
};

struct http_answer {
	int r;		  /* 0: a complete answer; else a negative errno, and `why` */
	const char *why;  /* if r < 0: "POST https://c/v1: connection refused" */
	unsigned status;  /* of a complete answer, else 0 */
	const char *body; /* never NULL, NUL after `len` bytes; borrowed */
	size_t len;
	uint64_t retry_after_us;  /* Retry-After, 0 if absent */
	const char *content_type; /* never NULL; borrowed */
	const struct http_certificate
		*certificate; /* of a complete answer, if requested; else NULL */
	const char *wanted;   /* value of the header `want`; never NULL; borrowed */
};

typedef void http_done_fn(void *context, const struct http_answer *answer);

/*
 * Receives every piece of an answer's body as it arrives, before `done`. Returning false aborts the
 * transfer: `done` gets -ECANCELED. `bytes` are borrowed until it returns, even if it cancels its
 * own request.
 */
typedef bool http_piece_fn(void *context, const char *bytes, size_t len);

struct http_call {
	const char *method; /* "GET", "POST", "PUT", "PATCH", "DELETE" */
	const char *url;
	const char *const *headers; /* "Name: value", NULL-terminated; may be NULL; copied */
	const char *want;	    /* name of a wanted header of the answer, static, or NULL */
	bool certificate;	    /* report the server's certificate */
	const char *body;	    /* borrowed until `done` or cancellation; NULL: none */
	size_t body_len;
	uint64_t timeout_us; /* for the whole exchange */
	size_t answer_max;   /* bytes of the answer's body; more is -EFBIG */
	/*
	 * If set, an answer with status 2xx is delivered in pieces, and `done` gets no body. At
	 * most `answer_max` undelivered bytes are buffered.
	 */
	http_piece_fn *piece;
	http_done_fn *done;
	void *context;
};

/*
 * -EINVAL, with a sentence, for a certificate without a key; -ENOMEM. Files are only opened by
 * requests.
 */
int http_new(struct sd_event *event, const struct http_options *options, struct http **ret,
	     struct err *err);

/* Cancels pending requests. */
void http_free(struct http *http);
DEFINE_CLEANUP(struct http *, http_free, http_freep);

/* Trust only the certificates in `ca_pem` (copied), from the next connection on. */
void http_trust(struct http *http, const char *ca_pem);

/*
 * Starts a request. `ret_request` (may be NULL) is valid until `done` is called or it is cancelled.
 * Negative if it cannot even start (the token file is not readable): then `done` is never called.
 *
 * Errors passed to `done`: -ECONNREFUSED (and other errors of connect(2)), -EHOSTUNREACH (name),
 * -ETIMEDOUT, -ECONNRESET (truncated answer), -EKEYREJECTED (the server's certificate), -EPROTO
 * (TLS, not HTTP), -EFBIG, -EINVAL (URL, our files), -ECANCELED (`piece`), -EIO (anything else).
 */
int http_send(struct http *http, const struct http_call *call, struct http_request **ret_request,
	      struct err *err);

/* Cancels a request: `done` is not called. NULL is allowed. */
void http_cancel(struct http_request *request);
