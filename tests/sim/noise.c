/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/noise.h"

#include "lib/base/duration.h"

static const double pi = 3.14159265358979323846;

struct noise noise_init(void)
{
	return (struct noise){ .spread = 1,
			       .gpu = 0.034,
			       .link = 0.01,
			       .memory = 0.005,
			       .host = 0.012,
			       .boot = 0.004,
			       .place = 0.015,
			       .run = 0.01,
			       .rack = 0.01,
			       .swing = 0.015,
			       .dip = 0.01,
			       .busy = 0.02,
			       .missing = 0.003,
			       .reboot = 0.05,
			       .other = 0.15 };
}

/*
 * In units of `sd`: a normal of 0.891 minus, in 6 of 100, an exponential of mean 1.32. The variance
 * of the second is 0.06 x 2 x 1.32^2 - (0.06 x 1.32)^2 = 0.203; the sum is 0.794 + 0.203: 1.
 */
double noise_silicon(struct random *r, double sd)
{
	double off = random_normal(r, 0, 0.891);

	if (random_unit(r) <= 0.06)
		off += 1.32 * log(random_unit(r));
	return fmax(1 + sd * off, 0.5);
}

/* N / sqrt(chi2 / 4); chi2 of 4 degrees is -2 ln(u v). Its variance is 4 / (4 - 2) = 2. */
double noise_t4(struct random *r)
{
	double normal = random_normal(r, 0, 1);
	double chi2 = -2 * log(random_unit(r) * random_unit(r));

	return normal / sqrt(chi2 / 4) / sqrt(2);
}

static double phase(uint64_t now_us)
{
	return 2 * pi * (double)(now_us % USEC_PER_DAY) / (double)USEC_PER_DAY;
}

double noise_shared(const struct noise *noise, uint64_t seed, uint64_t rack, uint64_t now_us)
{
	struct random chance = random_seeded(seed ^ (rack << 40) ^ (now_us / USEC_PER_HOUR + 1));

	(void)random_next(&chance);
	return (1 + random_normal(&chance, 0, noise->rack)) *
	       (1 + noise->swing * sin(phase(now_us)));
}

double noise_place(const struct noise *noise, double height, uint64_t now_us)
{
	const double warmth = 0.5 - 0.5 * sin(phase(now_us));

	return 1 - noise->place * (height - 0.5) * warmth;
}
