/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/noise.h"

#include "lib/duration.h"

struct noise noise_init(void)
{
	return (struct noise){
		.gpu = 0.02, .host = 0.012, .run = 0.01, .rack = 0.01, .swing = 0.015, .dip = 0.01
	};
}

/* N / sqrt(chi2 / 4); chi2 of 4 degrees is -2 ln(u v). Its variance is 4 / (4 - 2) = 2. */
double noise_t4(struct random *r)
{
	double normal = random_normal(r, 0, 1);
	double chi2 = -2 * log(random_unit(r) * random_unit(r));

	return normal / sqrt(chi2 / 4) / sqrt(2);
}

double noise_shared(const struct noise *noise, uint64_t seed, uint64_t rack, uint64_t now_us)
{
	struct random chance = random_seeded(seed ^ (rack << 40) ^ (now_us / USEC_PER_HOUR + 1));
	double day = (double)(now_us % USEC_PER_DAY) / (double)USEC_PER_DAY;

	(void)random_next(&chance);
	return (1 + random_normal(&chance, 0, noise->rack)) *
	       (1 + noise->swing * sin(2 * 3.14159265358979323846 * day));
}
