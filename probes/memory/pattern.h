/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is what was written what is read? Every word holds a value derived from its position and a seed,
 * then its complement: a stuck or coupled bit is wrong in one of the two, and a faulty address line
 * returns another word's value. (Moving inversions with address-in-value, as in memory testers such
 * as memtest86+, tests 1 and 5.)
 *
 * Word i for seed s is key(s) + i x 0x9e3779b97f4a7c15. The factor is odd, so no two words of an
 * array are equal, and about half of the bits differ from word to word. key() is splitmix64
 * (Steele, Lea, Flood 2014).
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct pattern {
	uint64_t key;	 /* from pattern_key() */
	uint64_t invert; /* 0, or UINT64_MAX for the complement */
};

/* Wrong words that were found. */
struct pattern_fault {
	uint64_t wrong; /* number of words */
	uint64_t index; /* the first one, in words from the start of the buffer */
	uint64_t expected, got;
};

uint64_t pattern_key(uint64_t seed);

/* Word `index` of the pattern. */
uint64_t pattern_word(const struct pattern *p, uint64_t index);

/* Write `n` words, the first of which has index `index`. */
void pattern_fill(const struct pattern *p, uint64_t *words, size_t n, uint64_t index);

/* Read `n` words and add the wrong ones to `fault`, which keeps the first. */
void pattern_check(const struct pattern *p, const uint64_t *words, size_t n, uint64_t index,
		   struct pattern_fault *fault);

/*
 * Makes a range be read from memory and not from a cache; tests corrupt words here. `context` is
 * the caller's.
 */
typedef void pattern_settle(void *context, uint64_t *words, size_t n);

/*
 * Retest the place of a fault with another algorithm: the `n` words around it are written from the
 * last to the first with other values (solid, alternating and a new key, each with its complement)
 * and read back after `settle` (may be NULL). Returns true if any word is wrong again.
 */
bool pattern_reproduces(uint64_t *words, size_t n, uint64_t seed, pattern_settle *settle,
			void *context);
