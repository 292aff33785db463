/* SPDX-License-Identifier: Apache-2.0 */
/* Hysteresis: K bad of the last N runs. One run is no proof, and one good run is no cure. Pure. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum { WINDOWS_MAX = 64 };

/* The last runs of one (host, check, subject): bit 0 is the newest, 1 is bad. */
struct windows {
	uint64_t bits;
	unsigned n; /* runs seen, at most WINDOWS_MAX */
};

/* Adds a run. */
void windows_push(struct windows *w, bool bad);

/* How many of the last `n` (1 to WINDOWS_MAX) were bad. */
unsigned windows_bad(const struct windows *w, unsigned n);

/* True if at least `k` of the last `n` were bad. */
bool windows_reached(const struct windows *w, unsigned k, unsigned n);

/* Good runs since the last bad one. */
unsigned windows_good(const struct windows *w);

/* True if there are `n` runs and the last `n` are all good. */
bool windows_clear(const struct windows *w, unsigned n);

/* When it clears, if `n` good runs do: "clears after 3 more good runs in a row". New memory. */
char *windows_clear_words(const struct windows *w, unsigned n);
