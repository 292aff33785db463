/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/windows.h"

#include "lib/base/xalloc.h"

static unsigned clamp(unsigned n)
{
	return n < 1 ? 1 : MIN(n, (unsigned)WINDOWS_MAX);
}

void windows_push(struct windows *w, bool bad)
{
	w->bits = w->bits << 1 | bad;
	w->n = MIN(w->n + 1, (unsigned)WINDOWS_MAX);
}

unsigned windows_bad(const struct windows *w, unsigned n)
{
	uint64_t mask = UINT64_MAX >> (WINDOWS_MAX - clamp(n));

	return (unsigned)__builtin_popcountll(w->bits & mask);
}

bool windows_reached(const struct windows *w, unsigned k, unsigned n)
{
	return windows_bad(w, n) >= MAX(k, 1U);
}

bool windows_clear(const struct windows *w, unsigned n)
{
	return w->n >= clamp(n) && windows_bad(w, n) == 0;
}

unsigned windows_good(const struct windows *w)
{
	return w->bits ? (unsigned)__builtin_ctzll(w->bits) : w->n;
}

char *windows_clear_words(const struct windows *w, unsigned n)
{
	const unsigned good = windows_good(w), left = n > good ? n - good : 1;

	return xasprintf("clears after %u more good run%s in a row", left, left == 1 ? "" : "s");
}
