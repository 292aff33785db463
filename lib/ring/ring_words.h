/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was found of who comes late (`lateness` of docs/formats.md), in words: by who analyses a
 * trace, and again by who knows then on which hosts its ranks were. Pure.
 */
#pragma once

#include <jansson.h>

enum {
	RING_WORDS_LINKS = 3,
	RING_WORDS_STALLS = 3,
	RING_WORDS_HOSTS = 4,	/* of each of their ends */
	RING_WORDS_MAX = 16384, /* bytes: all of these, with names of 256 */
};

/* Who is slower than its like by less is not worth a word. */
#define RING_WORDS_LEAST 0.01

/*
 * A sentence of the slowest rank, of each slow link and each stall, the first of them, with rank
 * and host; or one that there are none, or why it is not known. What is missing, or none of ours,
 * is left out. New memory.
 */
char *ring_words_lateness(const json_t *lateness);
