/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request of a program that has nothing else to do, to its answer or its deadline, on a loop
 * of its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/net/http_certificate.h"

struct err;
struct http_call;
struct http_options;

/* As in struct http_answer. Texts are owned. */
struct http_once {
	int r;		 /* 0: a whole answer came; else a negative errno, and `why` */
	char *why;	 /* NULL: it came */
	unsigned status; /* of a whole answer, else 0 */
	char *body;	 /* never NULL, NUL at its end */
	char *wanted;	 /* never NULL */
	/* When it was asked and answered, by our clock: microseconds since 1970. */
	uint64_t asked_us, answered_us;
	struct http_certificate certificate;
};
void http_once_release(struct http_once *o);

/*
 * `call` as http_send() takes it; its `done` and `context` are not looked at. Negative with `err`
 * when nothing could be asked; an answer that did not come is told in `ret`.
 */
int http_once(const struct http_options *options, const struct http_call *call,
	      struct http_once *ret, struct err *err);

/* What a refusal says ("detail" of RFC 9457), or NULL when it says nothing. New memory, clean. */
char *http_once_detail(const struct http_once *o);
