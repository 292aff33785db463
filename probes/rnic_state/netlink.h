/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The little netlink that this probe needs: bounds-checked attributes, and a single request with a
 * single answer, limited in size and time.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum {
	NETLINK_ANSWER_MAX = 32 * 1024,
	NETLINK_QUESTION_MAX = 512,
	NETLINK_ANSWER_MS = 1000,
};

/* A sequence of attributes: `left` bytes at `at`. Borrowed. */
struct attributes {
	const unsigned char *at;
	size_t left;
};

/* Get the next attribute and advance `all`; false at the end or if truncated. Pure. */
bool attributes_next(struct attributes *all, unsigned *ret_type, struct attributes *ret_value);

/*
 * Open an answer whose type is one of `types` (terminated by 0), and return what follows the
 * `header` bytes of the family. Returns 0, the errno of an error answer, or -EPROTO. Pure.
 */
int answer_open(const void *bytes, size_t len, const uint16_t *types, size_t header,
		struct attributes *ret);

/* A request under construction; something that does not fit makes it invalid. */
struct question {
	unsigned char bytes[NETLINK_QUESTION_MAX];
	size_t len;
	bool spoilt;
};

/* Begin with the message type and the family's header. Pure, like the next three. */
void question_begin(struct question *q, uint16_t type, uint16_t flags, const void *header,
		    size_t len);
void question_put(struct question *q, uint16_t type, const void *bytes, size_t len);
size_t question_nest(struct question *q, uint16_t type);
void question_end_nest(struct question *q, size_t nest);

/*
 * Send the request; returns the length of the answer, or a negative errno (-ETIMEDOUT, -E2BIG...).
 */
int netlink_ask(int protocol, struct question *q, void *ret_answer);
