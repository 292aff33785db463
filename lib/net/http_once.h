/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A single request of a program that has nothing else to do: waits for the answer or the deadline,
 * on its own loop.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/net/http_certificate.h"

struct err;
struct http_call;
struct http_options;

/* As in struct http_answer. Owns its texts. */
struct http_once {
	int r;		 /* 0: a complete answer; else a negative errno, and `why` */
	char *why;	 /* NULL: complete */
	unsigned status; /* of a complete answer, else 0 */
	char *body;	 /* never NULL, NUL-terminated */
	char *wanted;	 /* never NULL */
	/* Time of request and answer by our clock: microseconds since 1970. */
	uint64_t asked_us, answered_us;
	struct http_certificate certificate;
};
void http_once_release(struct http_once *o);

/*
 * `call` as for http_send(), without `done` and `context`. Returns negative with `err` if nothing
 * could be sent; a failed request is reported in `ret`.
 */
int http_once(const struct http_options *options, const struct http_call *call,
	      struct http_once *ret, struct err *err);

/* The reason for a refusal ("detail" of RFC 9457), or NULL if there is none. Clean, new memory. */
char *http_once_detail(const struct http_once *o);
