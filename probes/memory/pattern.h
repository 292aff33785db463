/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is what was written what is read? Every word holds a value made from its own
 * place and a seed, then the complement of that: a stuck or coupled bit is
 * wrong in one of the two, a wrong address line brings another word's value.
 * (The moving inversions with address-in-value of memory testers such as
 * memtest86+, tests 1 and 5.)
 *
 * Word i of seed s is key(s) + i x 0x9e3779b97f4a7c15: an odd factor, so no two
 * words of an array are equal and about half of the bits differ from word to
 * word. key() is splitmix64 (Steele, Lea, Flood 2014).
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct pattern {
	uint64_t key;	 /* from pattern_key() */
	uint64_t invert; /* 0, or UINT64_MAX for the complement */
};

/* What was found wrong. */
struct pattern_fault {
	uint64_t wrong; /* words */
	uint64_t index; /* of the first, in words from the start of the buffer */
	uint64_t expected, got;
};

uint64_t pattern_key(uint64_t seed);

/* Word `index` of the pattern. */
uint64_t pattern_word(const struct pattern *p, uint64_t index);

/* Write `n` words whose first has `index`. */
void pattern_fill(const struct pattern *p, uint64_t *words, size_t n, uint64_t index);

/*
 * Read `n` words and add the wrong ones to `fault` (the first is kept when
 * there is none yet).
 */
void pattern_check(const struct pattern *p, const uint64_t *words, size_t n, uint64_t index,
		   struct pattern_fault *fault);

/*
 * Reads a range back so that it comes from memory and not from a cache;
 * tests break words here. `context` is the caller's.
 */
typedef void pattern_settle(void *context, uint64_t *words, size_t n);

/*
 * Try the place of a fault again, by another algorithm: `n` words around it are
 * written one by one from the last to the first with other values (solid,
 * alternating and a new key, each and its complement) and read back after
 * `settle` (may be NULL). True when any word is wrong again.
 */
bool pattern_reproduces(uint64_t *words, size_t n, uint64_t seed, pattern_settle *settle,
			void *context);
