/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RNIC counters of jobs that are healthy, stop, or lose a rail, and of hosts without any rhythm.
 * Seeds from SEEDS_TRIED were used to choose the limits; others are for judging.
 */
#include "lib/judge/rhythm.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

enum {
	RUNS = 200,
	RUNS_FULL = 5000,
	SEEDS_TRIED = 1,
	SEEDS_HELD_OUT = 4000000,
	SAMPLES = 3000,
	EVERY_US = 20000,
	BYTES = 400000000, /* of a step: gradients of a few hundred million parameters */
	MICROS_MOST = 16,
};

static size_t runs(void)
{
	return test_times(RUNS_FULL, RUNS);
}

/* A job: micro-batches send a little each, then the gradients go. */
struct job {
	double step_s;
	double spread;	   /* of the time of a step */
	unsigned micros;   /* bursts within it */
	double micro_part; /* of the bytes, all of them together */
	double stop_s;	   /* nothing is sent from then on; INFINITY */
	double less_s;	   /* from then on a part `less` of the bytes goes here */
	double less;
};

static struct job job_made(struct random *r)
{
	return (struct job){
		.step_s = 0.3 * pow(20, random_unit(r)),
		.spread = 0.034 * random_unit(r),
		.micros = (unsigned)random_below(r, MICROS_MOST),
		.micro_part = 0.4 * random_unit(r),
		.stop_s = INFINITY,
		.less_s = INFINITY,
		.less = 1,
	};
}

struct burst {
	double from_s, to_s, bytes;
};

/* One step from `at_s`, as bursts; how many. */
static size_t step_of(const struct job *job, double at_s, double takes_s, struct burst *ret)
{
	const double reduce_s = 0.2 * takes_s;
	size_t n = 0;
	unsigned i;

	for (i = 0; i < job->micros; i++) {
		const double from = at_s + (takes_s - reduce_s) * (i + 0.8) / (job->micros + 1);

		ret[n++] = (struct burst){ from, from + 0.02 * takes_s,
					   BYTES * job->micro_part / job->micros };
	}
	ret[n++] = (struct burst){ at_s + takes_s - reduce_s, at_s + takes_s,
				   BYTES * (1 - (job->micros ? job->micro_part : 0)) };
	return n;
}

/* Samples are late by up to a half of their distance, as those of a busy host are. */
static void play(const struct job *job, struct random *r, struct rhythm_sample ret[SAMPLES])
{
	struct burst bursts[MICROS_MOST + 1];
	double at_s = -job->step_s * random_unit(r), sum[SAMPLES];
	size_t n, i, k;

	for (i = 0; i < SAMPLES; i++) {
		ret[i].at_us = USEC_PER_SEC + i * EVERY_US + random_below(r, EVERY_US / 2);
		sum[i] = 5000.0 * (double)i * random_unit(r) / SAMPLES;
	}
	while (at_s < SAMPLES * EVERY_US / 1e6 && at_s < job->stop_s) {
		const double takes_s = job->step_s * fmax(0.5, random_normal(r, 1, job->spread));

		n = step_of(job, at_s, takes_s, bursts);
		for (k = 0; k < n; k++) {
			const double part = at_s >= job->less_s ? job->less : 1;

			for (i = 0; i < SAMPLES; i++) {
				const double t = (double)ret[i].at_us / 1e6 - 1;
				const double done = (t - bursts[k].from_s) /
						    (bursts[k].to_s - bursts[k].from_s);

				sum[i] += part * bursts[k].bytes * fmin(1, fmax(0, done));
			}
		}
		at_s += takes_s;
	}
	for (i = 0; i < SAMPLES; i++)
		ret[i].total = MAX((uint64_t)sum[i], i ? ret[i - 1].total : 0);
}

static struct rhythm shown(const struct job *job, struct random *r)
{
	struct rhythm_sample *samples = xcalloc(SAMPLES, sizeof(*samples));
	struct rhythm rhythm = { 0 };

	play(job, r, samples);
	CHECK_EQ(rhythm_of(samples, SAMPLES, &rhythm), 0);
	free(samples);
	return rhythm;
}

static void a_period_is_found_by_itself(void)
{
	size_t good = 0, none = 0, i;

	for (i = 0; i < runs(); i++) {
		struct random r = random_seeded(SEEDS_HELD_OUT + i);
		const struct job job = job_made(&r);
		const struct rhythm rhythm = shown(&job, &r);

		good += fabs(rhythm.period_s / job.step_s - 1) < 0.03;
		none += isnan(rhythm.period_s) ? 1 : 0;
		CHECK(!rhythm.stopped);
	}
	printf("  %zu jobs, steps of 0.3 to 6 s that spread by up to 3.4 %%: period right %zu, "
	       "none "
	       "%zu, wrong %zu\n",
	       runs(), good, none, runs() - good - none);
	CHECK(good >= runs() * 97 / 100);
	CHECK(runs() - good - none <= runs() / 100);
}

static void noise_has_no_period(void)
{
	static const double memories[] = { 0, 0.9, 0.99, 0.998 };
	struct rhythm_sample *samples = xcalloc(SAMPLES, sizeof(*samples));
	size_t found = 0, all = 0, i, k, m;

	for (m = 0; m < ARRAY_SIZE(memories); m++) {
		for (i = 0; i < runs(); i++) {
			struct random r = random_seeded(SEEDS_HELD_OUT + i);
			struct rhythm rhythm = { 0 };
			double level = 0, total = 0;

			for (k = 0; k < SAMPLES; k++) {
				level = memories[m] * level + random_normal(&r, 0, 1);
				total += 1000 * exp(level * sqrt(1 - memories[m] * memories[m]));
				samples[k] = (struct rhythm_sample){ (k + 1) * EVERY_US,
								     (uint64_t)total };
			}
			CHECK_EQ(rhythm_of(samples, SAMPLES, &rhythm), 0);
			found += !isnan(rhythm.period_s) ? 1 : 0;
			all++;
		}
	}
	printf("  %zu hosts with noise of memories up to 10 s: %zu seemed to have a period\n", all,
	       found);
	CHECK(found <= all / 100);
	free(samples);
}

static void a_job_that_stops_has_stopped(void)
{
	size_t told = 0, i;

	for (i = 0; i < runs(); i++) {
		struct random r = random_seeded(SEEDS_HELD_OUT + i);
		struct job job = job_made(&r);
		struct rhythm rhythm;

		job.stop_s = 35;
		rhythm = shown(&job, &r);
		told += rhythm.stopped && rhythm.still_s > 25 - 2 * job.step_s &&
			rhythm.still_s < 26 + job.step_s;
	}
	printf("  %zu jobs stopped 25 s ago: told of %zu\n", runs(), told);
	CHECK(told >= runs() * 98 / 100);
}

static void a_rail_that_goes_is_a_change(void)
{
	size_t told = 0, falsely = 0, i;

	for (i = 0; i < runs(); i++) {
		struct random r = random_seeded(SEEDS_HELD_OUT + i);
		struct job job = job_made(&r);
		struct rhythm rhythm;

		job.step_s = fmin(job.step_s, 3);
		rhythm = shown(&job, &r);
		falsely += !isnan(rhythm.change) ? 1 : 0;
		job.less_s = 30;
		job.less = 0.75;
		rhythm = shown(&job, &r);
		told += fabs(rhythm.change - 0.75) < 0.05 &&
			fabs(rhythm.changed_s - 30) < 2 * job.step_s;
	}
	printf("  %zu jobs lose a quarter of a host's bytes: told of %zu; of %zu that lose "
	       "nothing: %zu\n",
	       runs(), told, runs(), falsely);
	CHECK(told >= runs() * 95 / 100);
	CHECK(falsely <= runs() / 50);
}

static void hosts_are_held_against_each_other(void)
{
	struct rhythm hosts[8];
	unsigned differs[8];
	size_t i;

	for (i = 0; i < 8; i++)
		hosts[i] = (struct rhythm){ 60,	 1e8, 2.0 + 0.001 * (double)i, 0.8, 0, false,
					    NAN, NAN };
	rhythm_peers(hosts, 8, differs);
	for (i = 0; i < 8; i++)
		CHECK_EQ(differs[i], 0);
	hosts[3].rate = 0.75e8;
	hosts[5].period_s = 2.3;
	hosts[6] = (struct rhythm){ 60, 1e8, 2.0, 0.8, 20, true, NAN, NAN };
	rhythm_peers(hosts, 8, differs);
	CHECK_EQ(differs[3], RHYTHM_SENDS_LESS);
	CHECK_EQ(differs[5], RHYTHM_OTHER_PERIOD);
	CHECK_EQ(differs[6], RHYTHM_STOPPED_ALONE);
	CHECK_EQ(differs[0], 0);
	rhythm_peers(hosts, 3, differs);
	CHECK_EQ(differs[0], 0);
}

static void who_stopped_first_is_told(void)
{
	struct rhythm hosts[8];
	unsigned differs[8];
	size_t i;

	for (i = 0; i < 8; i++)
		hosts[i] = (struct rhythm){ 60, 1e8, 2.0, 0.8, 20, true, NAN, NAN };
	hosts[2].still_s = 23;
	rhythm_peers(hosts, 8, differs);
	CHECK_EQ(differs[2], RHYTHM_STOPPED_FIRST);
	CHECK_EQ(differs[3], 0);
	hosts[4].still_s = 22;
	rhythm_peers(hosts, 8, differs);
	CHECK_EQ(differs[2], 0); /* within a step of another one */
	hosts[7].stopped = false;
	rhythm_peers(hosts, 8, differs);
	CHECK_EQ(differs[7], RHYTHM_MOVES_ALONE);
}

static void what_is_no_series_is_refused(void)
{
	struct rhythm_sample samples[RHYTHM_SAMPLES_LEAST];
	struct rhythm rhythm;
	size_t i;

	for (i = 0; i < RHYTHM_SAMPLES_LEAST; i++)
		samples[i] = (struct rhythm_sample){ 10 * (i + 1), 0 };
	CHECK_EQ(rhythm_of(samples, RHYTHM_SAMPLES_LEAST - 1, &rhythm), -ENODATA);
	CHECK_EQ(rhythm_of(samples, RHYTHM_SAMPLES_MAX + 1, &rhythm), -EINVAL);
	CHECK_EQ(rhythm_of(samples, RHYTHM_SAMPLES_LEAST, &rhythm), 0);
	CHECK(isnan(rhythm.period_s) && rhythm.rate == 0);
	samples[5].at_us = samples[4].at_us;
	CHECK_EQ(rhythm_of(samples, RHYTHM_SAMPLES_LEAST, &rhythm), -EINVAL);
}

static const struct test tests[] = {
	TEST(a_period_is_found_by_itself),	 TEST(noise_has_no_period),
	TEST(a_job_that_stops_has_stopped),	 TEST(a_rail_that_goes_is_a_change),
	TEST(hosts_are_held_against_each_other), TEST(who_stopped_first_is_told),
	TEST(what_is_no_series_is_refused),
};

TEST_SUITE(tests);
