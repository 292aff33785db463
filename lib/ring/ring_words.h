/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who comes late (`lateness` of docs/formats.md), in words: for whoever analyses a trace, and later
 * for whoever knows which hosts its ranks were on. Pure.
 */
#pragma once

#include <jansson.h>

enum {
	RING_WORDS_LINKS = 3,
	RING_WORDS_STALLS = 3,
	RING_WORDS_HOSTS = 4,	/* per end */
	RING_WORDS_MAX = 16384, /* bytes: all of these, with names of 256 */
};

/* Smaller differences are not mentioned. */
#define RING_WORDS_LEAST 0.01

/*
 * One sentence each for the slowest rank and the first slow links and stalls, with rank and host;
 * or one that there are none, or why it is unknown. Missing or invalid data are left out. New
 * memory.
 */
char *ring_words_lateness(const json_t *lateness);
