/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The little of netlink that this probe needs: attributes, read within their
 * bounds, and one question with one answer, bounded in size and time.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum {
	NETLINK_ANSWER_MAX = 32 * 1024,
	NETLINK_QUESTION_MAX = 512,
	NETLINK_ANSWER_MS = 1000,
};

/* Attributes one after another: `left` bytes from `at`. Borrowed. */
struct attributes {
	const unsigned char *at;
	size_t left;
};

/* The next one, and `all` moved on; false at the end, or where they are cut. Pure. */
bool attributes_next(struct attributes *all, unsigned *ret_type, struct attributes *ret_value);

/*
 * What follows the `header` bytes of the family in an answer of one of `types`
 * (0 ends them). 0; the errno of an answer that is an error; -EPROTO. Pure.
 */
int answer_open(const void *bytes, size_t len, const uint16_t *types, size_t header,
		struct attributes *ret);

/* A question under construction; what does not fit spoils it. */
struct question {
	unsigned char bytes[NETLINK_QUESTION_MAX];
	size_t len;
	bool spoilt;
};

/* Begin with the type of the message and the header of its family. Pure, as the next three. */
void question_begin(struct question *q, uint16_t type, uint16_t flags, const void *header,
		    size_t len);
void question_put(struct question *q, uint16_t type, const void *bytes, size_t len);
size_t question_nest(struct question *q, uint16_t type);
void question_end_nest(struct question *q, size_t nest);

/* Ask; the answer's length, or a negative errno (-ETIMEDOUT, -E2BIG...). */
int netlink_ask(int protocol, struct question *q, void *ret_answer);
