/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test data whose arrival can be checked: every word is different, also between seeds, so that both
 * a misdirected request and a flipped bit are detected. Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum { DATA_WORDS_SIZE = 128 };

/* Fill `bytes` bytes, rounded down to whole 8-byte words. */
void data_fill(void *at, uint64_t bytes, uint64_t seed);

/* Returns true if `got` differs from `wanted`; `ret_words` then says where. */
bool data_differs(const void *got, const void *wanted, uint64_t bytes,
		  char ret_words[static DATA_WORDS_SIZE]);
