/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/pattern.h"

#define STEP UINT64_C(0x9e3779b97f4a7c15)

enum { BLOCK = 512 }; /* words compared at once: one 4 KiB page */

/* splitmix64: every seed gives a different key with evenly distributed bits. */
uint64_t pattern_key(uint64_t seed)
{
	uint64_t z = seed + STEP;

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t pattern_word(const struct pattern *p, uint64_t index)
{
	return (p->key + index * STEP) ^ p->invert;
}

void pattern_fill(const struct pattern *p, uint64_t *words, size_t n, uint64_t index)
{
	uint64_t value = p->key + index * STEP;
	size_t i;

	for (i = 0; i < n; i++)
		words[i] = (value + i * STEP) ^ p->invert;
}

/* Is any bit in the block wrong? Branch-free, to keep up with memory. */
static uint64_t differs(const struct pattern *p, const uint64_t *words, size_t n, uint64_t index)
{
	uint64_t value = p->key + index * STEP, wrong = 0;
	size_t i;

	for (i = 0; i < n; i++)
		wrong |= words[i] ^ (value + i * STEP) ^ p->invert;
	return wrong;
}

/* Reads again. If all words are right now, one was misread before, which counts as wrong. */
static void count_wrong(const struct pattern *p, const uint64_t *words, size_t n, uint64_t index,
			struct pattern_fault *fault)
{
	bool found = false;
	size_t i;

	for (i = 0; i < n; i++) {
		uint64_t expected = pattern_word(p, index + i), got = words[i];

		if (got == expected)
			continue;
		if (fault->wrong++ == 0) {
			fault->index = index + i;
			fault->expected = expected;
			fault->got = got;
		}
		found = true;
	}
	if (!found && fault->wrong++ == 0) {
		fault->index = index;
		fault->expected = pattern_word(p, index);
		fault->got = words[0];
	}
}

void pattern_check(const struct pattern *p, const uint64_t *words, size_t n, uint64_t index,
		   struct pattern_fault *fault)
{
	size_t at;

	for (at = 0; at < n; at += BLOCK) {
		size_t length = MIN((size_t)BLOCK, n - at);

		if (differs(p, words + at, length, index + at))
			count_wrong(p, words + at, length, index + at, fault);
	}
}

/* Test one background of values key + i x step, written downwards and read upwards. */
static bool background_fails(uint64_t *words, size_t n, const struct pattern *p, uint64_t step,
			     pattern_settle *settle, void *context)
{
	volatile uint64_t *at = words;
	size_t i;

	for (i = n; i-- > 0;)
		at[i] = (p->key + i * step) ^ p->invert;
	if (settle)
		settle(context, words, n);
	for (i = 0; i < n; i++)
		if (at[i] != ((p->key + i * step) ^ p->invert))
			return true;
	return false;
}

bool pattern_reproduces(uint64_t *words, size_t n, uint64_t seed, pattern_settle *settle,
			void *context)
{
	const struct {
		uint64_t key, step;
	} backgrounds[] = {
		{ 0, 0 },			     /* solid */
		{ UINT64_C(0x5555555555555555), 0 }, /* alternating */
		{ UINT64_C(0x00ff00ff00ff00ff), 0 }, /* bytes */
		{ pattern_key(seed + 1), STEP | 2 }, /* another key */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(backgrounds); i++) {
		struct pattern p = { .key = backgrounds[i].key };

		if (background_fails(words, n, &p, backgrounds[i].step, settle, context))
			return true;
		p.invert = UINT64_MAX;
		if (background_fails(words, n, &p, backgrounds[i].step, settle, context))
			return true;
	}
	return false;
}
