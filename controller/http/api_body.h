/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer that many calls take: written once, packed once, and held in memory once until the last
 * of them has been sent.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct api_body;
struct call;

enum {
	API_GZIP_LEAST = 1024, /* bytes of an answer that is worth it */
	API_GZIP_ONE = 1,      /* zlib's level for an answer of one call */
	API_GZIP_MANY = 6,
};

/* JSON, which it takes. Yours is one reference. */
struct api_body *api_body_new(char *text, size_t length);

/* One reference more. NULL is nothing. */
struct api_body *api_body_again(struct api_body *body);

/* Gives your reference back; answers that are under way have their own. NULL is nothing. */
void api_body_free(struct api_body *body);

/* Answer 200 with it, packed for who takes that. */
void api_body_reply(struct call *call, struct api_body *body);
