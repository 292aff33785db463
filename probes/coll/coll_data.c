/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/coll/coll_data.h"

#include <math.h>

#include "lib/base/err.h"
#include "probes/coll/coll.h"

enum { BATCH = 4096 }; /* elements copied at once */

/* SplitMix64: https://prng.di.unimi.it/splitmix64.c */
static uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

float coll_value(uint64_t seed, unsigned rank, uint64_t i)
{
	return (float)(mix(mix(seed + rank) + i) % COLL_VALUE_MAX);
}

float coll_wanted(int kind, uint64_t seed, unsigned n, unsigned rank, uint64_t elements, uint64_t i)
{
	const uint64_t block = elements / n;
	float sum = 0;
	unsigned k;

	if (kind == COLL_ALL_TO_ALL)
		return coll_value(seed, (unsigned)(i / block), rank * block + i % block);
	if (kind == COLL_PASS_ON)
		return coll_value(seed, (unsigned)((i / block + n - 1) % n), i);
	for (k = 0; k < n; k++)
		sum += coll_value(seed, k, i);
	return sum;
}

/* Some elements of a rank's buffer. */
struct batch {
	unsigned rank;
	uint64_t at, n;
	float values[BATCH];
};

/* Advance to the next elements of the ranks here; start with n = 0. False at the end. */
static bool batch_next(struct batch *b, const struct coll *c, uint64_t elements)
{
	b->at += b->n;
	if (b->n == 0)
		b->rank = c->first;
	if (b->at == elements) {
		b->rank++;
		b->at = 0;
	}
	b->n = MIN(elements - b->at, (uint64_t)BATCH);
	return b->n > 0 && b->rank < c->first + c->n_here;
}

int coll_fill(struct coll *c, const struct coll_op *op, uint64_t seed, struct err *err)
{
	struct batch b = { .n = 0 };
	uint64_t i;
	int r = 0;

	while (r == 0 && batch_next(&b, c, op->bytes / sizeof(float))) {
		for (i = 0; i < b.n; i++)
			b.values[i] = coll_value(seed, b.rank, b.at + i);
		r = c->ops->put(c, b.rank, b.at * sizeof(float), b.values, b.n * sizeof(float), err);
	}
	return r;
}

/* Keep the first one, count all. */
static void note_wrong(struct coll_wrong *w, const struct coll_wrong *found)
{
	const uint64_t before = w->count;

	if (before == 0)
		*w = *found;
	w->count = before + 1;
}

int coll_check(struct coll *c, const struct coll_op *op, uint64_t seed, struct coll_wrong *ret,
	       struct err *err)
{
	const uint64_t elements = op->bytes / sizeof(float);
	struct batch b = { .n = 0 };
	uint64_t i;
	int r = 0;

	*ret = (struct coll_wrong){ .count = 0 };
	while (r == 0 && batch_next(&b, c, elements)) {
		r = c->ops->get(c, b.rank, b.at * sizeof(float), b.values, b.n * sizeof(float), err);
		for (i = 0; r == 0 && i < b.n; i++) {
			const uint64_t at = b.at + i;
			const float wanted = coll_wanted(op->kind, seed, c->n, b.rank, elements, at);

			if (b.values[i] != wanted)
				note_wrong(ret, &(struct coll_wrong){
							.rank = b.rank,
							.at = at,
							.from = (unsigned)(at / (elements / c->n)),
							.is = b.values[i],
							.wanted = wanted });
		}
	}
	return r;
}

double coll_busbw(const struct coll_op *op, unsigned n, double seconds)
{
	const double share = ((double)n - 1) / n;

	return (op->kind == COLL_ALL_TO_ALL ? share : 2 * share) * (double)op->bytes / seconds;
}

double coll_seconds(const struct coll *c)
{
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	unsigned i;

	for (i = 0; i < c->n_here; i++) {
		const struct coll_rank *rank = &c->result.ranks[i];

		if (!rank->arrived || !rank->ended)
			return NAN;
		first_ns = MIN(first_ns, rank->arrived_ns);
		last_ns = MAX(last_ns, rank->ended_ns);
	}
	return (double)(last_ns - first_ns) / 1e9;
}
