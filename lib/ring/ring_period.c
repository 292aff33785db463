/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ring/ring_period.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* "Nearly as well" means this part of the best agreement of a kind at any shift. */
#define NEARLY 0.65

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t ring_period_token(size_t ring, const struct ring_op *op, bool bytes)
{
	const uint64_t token = mix(mix(mix(mix((uint64_t)ring) ^ op->func) ^ (uint32_t)op->peer) ^
				   (bytes ? op->bytes : 0));

	return token ? token : 1;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* A kind of operation. */
struct rhythm {
	size_t n, first, last;
	size_t pairs, agree; /* with a partner at this shift, and matching ones */
	double best;	     /* agreement at any shift */
};

/* Tokens as numbers of their kinds. */
struct sequence {
	size_t n, n_kinds;
	uint16_t *kind; /* [n] */
	struct rhythm *kinds;
};

static void sequence_release(struct sequence *s)
{
	free(s->kind);
	free(s->kinds);
}

static struct sequence sequence_of(const uint64_t *tokens, size_t n)
{
	CLEANUP(freep) uint64_t *sorted = xcalloc(n, sizeof(*sorted));
	struct sequence s = { .n = n, .kind = xcalloc(n, sizeof(*s.kind)) };
	size_t i;

	memcpy(sorted, tokens, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_value);
	for (i = 0; i < n; i++) {
		if (s.n_kinds == 0 || sorted[s.n_kinds - 1] != sorted[i])
			sorted[s.n_kinds++] = sorted[i];
	}
	s.kinds = xcalloc(s.n_kinds, sizeof(*s.kinds));
	for (i = 0; i < n; i++) {
		const uint64_t *found =
			bsearch(&tokens[i], sorted, s.n_kinds, sizeof(*sorted), by_value);

		s.kind[i] = (uint16_t)(found - sorted);
		if (s.kinds[s.kind[i]].n++ == 0)
			s.kinds[s.kind[i]].first = i;
		s.kinds[s.kind[i]].last = i;
	}
	return s;
}

static double agreement(const struct rhythm *kind)
{
	/* A single match is no rhythm. */
	return kind->agree >= 2 ? (double)kind->agree / (double)kind->pairs : 0;
}

static void shift(struct sequence *s, size_t lag)
{
	size_t i;

	for (i = 0; i < s->n_kinds; i++)
		s->kinds[i].pairs = s->kinds[i].agree = 0;
	for (i = 0; i + lag < s->n; i++) {
		struct rhythm *kind = &s->kinds[s->kind[i]];

		kind->pairs++;
		kind->agree += s->kind[i] == s->kind[i + lag];
	}
}

/* True if its rhythm is not confined to the beginning or the end. */
static bool has_rhythm(const struct sequence *s, const struct rhythm *kind)
{
	return kind->n >= RING_PERIOD_TIMES_MIN && kind->best >= RING_PERIOD_LEAST &&
	       2 * (kind->last - kind->first) >= s->n;
}

/*
 * How well kinds with a rhythm keep it at this shift: the worst of them, relative to its best; and
 * their mean agreement.
 */
static double kept_rhythm(struct sequence *s, size_t lag, double *ret_mean)
{
	double sum = 0, worst = 1;
	size_t i, n = 0;

	shift(s, lag);
	for (i = 0; i < s->n_kinds; i++) {
		const struct rhythm *kind = &s->kinds[i];

		if (!has_rhythm(s, kind))
			continue;
		worst = MIN(worst, agreement(kind) / kind->best);
		sum += agreement(kind);
		n++;
	}
	*ret_mean = sum / (double)n;
	return worst;
}

/* The least shift at which all nearly keep it, or else the one at which they keep it best. */
static struct ring_period least_shift(struct sequence *s, size_t lags)
{
	struct ring_period best = { 0, 0 };
	double most = 0, mean = 0;
	size_t lag;

	for (lag = 1; lag <= lags && most < NEARLY; lag++) {
		const double kept = kept_rhythm(s, lag, &mean);

		if (kept <= most)
			continue;
		most = kept;
		best = (struct ring_period){ lag, mean };
	}
	return best;
}

int ring_period_find(const uint64_t *tokens, size_t n, struct ring_period *ret, struct err *err)
{
	const size_t over = n > RING_PERIOD_TOKENS_MAX ? n - RING_PERIOD_TOKENS_MAX : 0;
	const size_t kept = n - over, lags = kept / RING_PERIOD_TIMES_MIN;
	CLEANUP(sequence_release) struct sequence s = { .n = 0 };
	struct ring_period best = { 0, 0 };
	size_t lag, i, rhythmic = 0;

	if (lags < 1)
		return err_set(err, ENODATA,
			       "%zu operations are too few to see a step repeat %d times", kept,
			       RING_PERIOD_TIMES_MIN);
	s = sequence_of(tokens + over, kept);
	for (lag = 1; lag <= lags; lag++) {
		shift(&s, lag);
		for (i = 0; i < s.n_kinds; i++)
			s.kinds[i].best = MAX(s.kinds[i].best, agreement(&s.kinds[i]));
	}
	for (i = 0; i < s.n_kinds; i++)
		rhythmic += has_rhythm(&s, &s.kinds[i]) ? s.kinds[i].n : 0;
	if (2 * rhythmic >= kept)
		best = least_shift(&s, lags);
	if (best.n == 0)
		return err_set(err, ENODATA,
			       "no sequence of operations repeats in the last %zu: %zu of them "
			       "recur regularly",
			       kept, rhythmic);
	*ret = best;
	return 0;
}
