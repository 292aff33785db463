/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is moved, so that what arrives can be checked: words that differ
 * everywhere and from seed to seed, so that a request that went astray is
 * seen as well as a bit that flipped. Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum { DATA_WORDS_SIZE = 128 };

/* Fill `bytes` (rounded down to words of 8). */
void data_fill(void *at, uint64_t bytes, uint64_t seed);

/* True when `got` is not what was filled in at `wanted`; then where, in words. */
bool data_differs(const void *got, const void *wanted, uint64_t bytes,
		  char ret_words[static DATA_WORDS_SIZE]);
