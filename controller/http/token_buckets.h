/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often a host may report: a bucket of `burst` that fills at `rate` a
 * second (the token bucket of RFC 2697). Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct token_buckets {
	double rate, burst;
	size_t max; /* most hosts that have a bucket */
	void *tree;
	size_t n;
};

/* Is there room for one of `name` at `now_us`? Then it is taken. A host past `max` always has. */
bool token_buckets_take(struct token_buckets *l, const char *name, uint64_t now_us);

/* Give back what was taken. */
void token_buckets_give(struct token_buckets *l, const char *name);

void token_buckets_release(struct token_buckets *l);
