/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rate limit of a host's reports: a bucket of `burst` tokens that fills at `rate` per second (the
 * token bucket of RFC 2697). Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct token_buckets {
	double rate, burst;
	size_t max; /* maximum number of buckets */
	void *tree;
	size_t n;
};

/* Take a token of `name` at `now_us`, if there is one. Hosts beyond `max` are not limited. */
bool token_buckets_take(struct token_buckets *l, const char *name, uint64_t now_us);

/* Give back what was taken. */
void token_buckets_give(struct token_buckets *l, const char *name);

void token_buckets_release(struct token_buckets *l);
