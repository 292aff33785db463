/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded pseudo-random numbers for tests: the same on every machine. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

struct random {
	uint64_t state;
};

static inline struct random random_seeded(uint64_t seed)
{
	return (struct random){ seed };
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
static inline uint64_t random_next(struct random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static inline size_t random_below(struct random *r, size_t n)
{
	return random_next(r) % n;
}

/* In (0, 1]. */
static inline double random_unit(struct random *r)
{
	return (double)((random_next(r) >> 11) + 1) / 0x1p53;
}

/* Box and Muller. */
static inline double random_normal(struct random *r, double mean, double sigma)
{
	double radius = sqrt(-2 * log(random_unit(r)));

	return mean + sigma * radius * cos(2 * 3.14159265358979323846 * random_unit(r));
}
