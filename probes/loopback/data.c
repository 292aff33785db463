/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/loopback/data.h"

#include <stdio.h>
#include <string.h>

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t word(uint64_t seed, uint64_t i)
{
	uint64_t z = seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

void data_fill(void *at, uint64_t bytes, uint64_t seed)
{
	uint64_t *words = at, i;

	for (i = 0; i < bytes / sizeof(*words); i++)
		words[i] = word(seed, i);
}

bool data_differs(const void *got, const void *wanted, uint64_t bytes,
		  char ret_words[static DATA_WORDS_SIZE])
{
	const unsigned char *is = got, *should = wanted;
	uint64_t i = 0, n = 0, first = 0;

	if (memcmp(got, wanted, bytes) == 0)
		return false;
	for (i = 0; i < bytes; i++) {
		if (is[i] != should[i] && n++ == 0)
			first = i;
	}
	(void)snprintf(ret_words, DATA_WORDS_SIZE,
		       "wrong data: %llu of %llu bytes, from 0x%llx on (0x%02x instead of 0x%02x)",
		       (unsigned long long)n, (unsigned long long)bytes, (unsigned long long)first,
		       is[first], should[first]);
	return true;
}
