/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU's clock as a function of its load history (boost=, boostms=), its reading by NVML
 * (clockerror=), and the host time of a launch (launchns= and its options): see gpu_fake.h.
 */
#include <math.h>
#include <sched.h>

#include "tests/fakes/gpu_fake.h"
#include "tests/unit/random.h"

enum { BOOST_MS = 50, PERCENT = 100, MS_NS = 1000000, PER_MILLE = 1000, TAIL_TIMES = 5 };
/* Distinct from the seeds of rates. */
enum { LAUNCH_SEEDS = 1000000, CLOCK_SEEDS = 2000000, LAST_OF_8 = 7 };

/* A product of this many FLOP or more draws full power. */
static const double heavy_flop = 1e6;

/* One per GPU, used only by the thread that drives it. */
static struct history {
	double full_ns; /* time at full power less time to cool down; 0 to boostms */
	double end_ns;	/* of the latest such work */
	bool throttled;
	struct random random;
	bool seeded;
} histories[FAKE_GPUS_MAX];

static double boost_ns(void)
{
	return (double)fake_setting("boostms", BOOST_MS) * MS_NS;
}

/* It cools as fast as it heats up. */
static double full_at(const struct history *h, double now_ns)
{
	return fmax(0, h->full_ns - fmax(0, now_ns - h->end_ns));
}

/* Once it has run at full power for boostms it is throttled until it has cooled down. */
static bool is_throttled(struct history *h, double now_ns)
{
	const double full_ns = full_at(h, now_ns);

	h->throttled = full_ns > 0 && (h->throttled || full_ns >= boost_ns());
	return h->throttled;
}

bool fake_gpu_is_boosted(unsigned gpu)
{
	return fake_setting("boost", 0) && !is_throttled(&histories[gpu], fake_now_ns());
}

double fake_product_ns(unsigned gpu, double begin_ns, double flop, double sustained_ns)
{
	const double faster = 1 + (double)fake_setting("boost", 0) / PERCENT;
	struct history *h = &histories[gpu];
	double ns;

	if (faster <= 1)
		return sustained_ns;
	ns = is_throttled(h, begin_ns) ? sustained_ns : sustained_ns / faster;
	if (flop >= heavy_flop) {
		h->full_ns = fmin(full_at(h, begin_ns) + ns, boost_ns());
		h->end_ns = begin_ns + ns;
	}
	return ns;
}

double fake_clock_read(unsigned gpu, double part)
{
	static struct {
		double part, at_ns;
	} seen[FAKE_GPUS_MAX];
	static const double average_ns = 200e6;
	const double most = (double)fake_setting("clockerror", 0) / PERCENT;
	struct random random;
	double now_ns;

	if (!(most > 0))
		return part;
	random = random_seeded((uint64_t)fake_setting("seed", 0) * FAKE_GPUS_MAX + gpu +
			       CLOCK_SEEDS);
	now_ns = fake_now_ns();
	if (!(seen[gpu].at_ns > 0))
		seen[gpu].part = part;
	else
		seen[gpu].part += (part - seen[gpu].part) *
				  (1 - exp((seen[gpu].at_ns - now_ns) / average_ns));
	seen[gpu].at_ns = now_ns;
	return seen[gpu].part * (1 + most * (2 * random_unit(&random) - 1));
}

/* For a pinned thread. Processors alternate between the nodes (gpu_fixtures.py). */
static bool is_far(unsigned gpu)
{
	const int cpu = sched_getcpu();

	return cpu >= 0 && (unsigned)cpu % 2 != gpu % 2;
}

/* The settings, read once because each launch needs them. */
static struct launches {
	bool known;
	double ns, spread, parts, far, tail;
} launches;

static const struct launches *told(void)
{
	if (!launches.known)
		launches = (struct launches){
			.known = true,
			.ns = (double)fake_setting("launchns", 0),
			.spread = (double)fake_setting("launchsd", 0) / PERCENT,
			.parts = (double)fake_setting("launchparts", 0) / PERCENT,
			.far = (double)fake_setting("launchfar", 0) / PERCENT,
			.tail = (double)fake_setting("launchtail", 0) / PER_MILLE,
		};
	return &launches;
}

static double launch_ns(const struct launches *l, unsigned gpu)
{
	struct history *h = &histories[gpu];
	double ns;

	if (!h->seeded) {
		h->random = random_seeded((uint64_t)fake_setting("seed", 0) * FAKE_GPUS_MAX + gpu +
					  LAUNCH_SEEDS);
		h->seeded = true;
	}
	ns = l->ns * (1 + l->parts * (double)(gpu % 8) / LAST_OF_8);
	ns *= exp(l->spread * random_normal(&h->random, 0, 1));
	if (l->tail > random_unit(&h->random))
		ns *= TAIL_TIMES;
	return is_far(gpu) ? ns * (1 + l->far) : ns;
}

void fake_launch_cost(unsigned gpu)
{
	const struct launches *l = told();
	double end_ns;

	if (!(l->ns > 0))
		return;
	if (clock_fake_pass) {
		clock_fake_pass((int64_t)launch_ns(l, gpu));
		return;
	}
	end_ns = fake_now_ns() + launch_ns(l, gpu);
	while (fake_now_ns() < end_ns)
		;
}
