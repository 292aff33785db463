/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer shared by many calls: encoded once, compressed once, and kept in memory once until the
 * last has been sent.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct api_body;
struct call;

enum {
	API_GZIP_LEAST = 1024, /* smallest answer worth compressing */
	API_GZIP_ONE = 1,      /* zlib level for a single call */
	API_GZIP_MANY = 6,
};

/* JSON text; takes ownership. The caller gets one reference. */
struct api_body *api_body_new(char *text, size_t length);

/* Take another reference. NULL is allowed. */
struct api_body *api_body_again(struct api_body *body);

/* Drop a reference; answers being sent have their own. NULL is allowed. */
void api_body_free(struct api_body *body);

/* Answer 200 with it, compressed if the client accepts that. */
void api_body_reply(struct call *call, struct api_body *body);
