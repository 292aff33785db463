/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beats of healthy jobs with varying steps, evaluations, checkpoints and lost beats, and of jobs
 * that stop; and all combinations of state, ranks and beats.
 */
#include "lib/policy/standstill.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define T0 (1000000 * USEC_PER_SEC)
/* The limit in steps, for steps of a millisecond. */
#define MSTEPS ((uint64_t)(STANDSTILL_FACTOR * USEC_PER_MSEC))
/* The limit of begun(), whose steps take 8 s. */
#define LIMIT_US (STANDSTILL_FLOOR_US + 8000 * MSTEPS)

enum {
	RUNS = 400,
	RUNS_FULL = 20000,
	/* Seeds used to choose the limits, and seeds for judging. */
	SEEDS_TRIED = 1,
	SEEDS_HELD_OUT = 2000000,
};

/* --- one beat --- */

static struct standstill begun(void)
{
	static const double seconds[] = { 8, 8, 8, 8, 8, 8 };
	struct standstill s = { .run = 0 };

	standstill_take(&s,
			&(struct standstill_beat){ 1, 100, seconds, ARRAY_SIZE(seconds), 0, false },
			T0);
	return s;
}

static void what_cannot_be_is_refused_in_a_sentence(void)
{
	static const double bad[][1] = { { 0 }, { -1 }, { NAN }, { INFINITY }, { 86401 } };
	static const double many[STANDSTILL_BLOCK + 1] = { 1 };
	struct standstill s = begun();
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct standstill_beat beat = { 1, 101, bad[i], 1, 0, false };

		CHECK_EQ(standstill_check(&s, &beat, &err), -EINVAL);
		CHECK_HAS(err.msg, "seconds[0]: expected the duration of a step");
	}
	CHECK_EQ(standstill_check(&s,
				  &(struct standstill_beat){ 1, 101, many, ARRAY_SIZE(many), 0, 0 },
				  &err),
		 -EINVAL);
	CHECK_STR(err.msg, "seconds: expected the durations of at most 64 steps");
	CHECK_EQ(standstill_check(&s, &(struct standstill_beat){ 1, 101, NULL, 0, -1, 0 }, &err),
		 -EINVAL);
	CHECK_EQ(standstill_check(&s, &(struct standstill_beat){ 1, 101, NULL, 0, NAN, 0 }, &err),
		 -EINVAL);
	CHECK_EQ(standstill_check(
			 &s, &(struct standstill_beat){ 1, 101, NULL, 0, 7 * 86400 + 1, 0 }, &err),
		 -EINVAL);
	CHECK_HAS(err.msg, "age: expected the seconds since the step ended");
	CHECK_EQ(standstill_check(&s, &(struct standstill_beat){ 1, 99, NULL, 0, 0, 0 }, &err),
		 -EEXIST);
	CHECK_STR(err.msg,
		  "step 100 of run 1 has been reported, and steps never go back within a run: a "
		  "restart needs run 2");
	CHECK_EQ(standstill_check(&s, &(struct standstill_beat){ 0, 101, NULL, 0, 0, 0 }, &err),
		 -EEXIST);
	CHECK_EQ(standstill_check(&s, &(struct standstill_beat){ 1, 100, NULL, 0, 0, 0 }, &err), 0);
	CHECK_EQ(standstill_check(&s, &(struct standstill_beat){ 2, 0, NULL, 0, 7 * 86400, 0 },
				  &err),
		 0);
}

static void durations_that_came_before_count_once(void)
{
	static const double seconds[] = { 1, 2, 3, 4 };
	struct standstill s = begun();

	standstill_take(&s, &(struct standstill_beat){ 1, 102, seconds, 4, 0, false }, T0 + 1);
	CHECK_EQ(s.n, 8);
	CHECK_NEAR(s.seconds[6], 3, 1e-6);
	CHECK_NEAR(s.seconds[7], 4, 1e-6);
	standstill_take(&s, &(struct standstill_beat){ 1, 102, seconds, 4, 0, false }, T0 + 2);
	CHECK_EQ(s.n, 8);
}

static void without_durations_they_are_known_by_the_times_of_beats(void)
{
	struct standstill s = { .run = 0 };
	uint64_t step;

	for (step = 0; step <= 10; step++)
		standstill_take(
			&s, &(struct standstill_beat){ 1, step * 3, NULL, 0, (double)(step % 2), 0 },
			T0 + step * 12 * USEC_PER_SEC + step % 2 * USEC_PER_SEC);
	CHECK_EQ(s.n, 10);
	CHECK_NEAR(s.step_s, 4, 1e-6);
}

/* --- all combinations --- */

static void every_state_follows_from_ranks_and_beats(void)
{
	/* By ranks (unknown, live, gone): without and with a recent beat; and still running. */
	static const enum standstill_state quiet[2][3] = {
		[false] = { STANDSTILL_STILL, STANDSTILL_STILL, STANDSTILL_ENDED },
		[true] = { STANDSTILL_UNKNOWN, STANDSTILL_STILL, STANDSTILL_ENDED },
	};
	static const enum standstill_state not_quiet[2][3] = {
		[false] = { STANDSTILL_RUNNING, STANDSTILL_RUNNING, STANDSTILL_RUNNING },
		[true] = { STANDSTILL_RUNNING, STANDSTILL_RUNNING, STANDSTILL_ENDED },
	};
	unsigned i;

	for (i = 0; i < 2 * 2 * 2 * 3 * 2; i++) {
		const bool is_quiet = i % 2, ceased = i / 2 % 2, done = i / 4 % 2, early = i / 24;
		const enum standstill_ranks ranks = i / 8 % 3;
		const uint64_t now_us = T0 + (is_quiet ? LIMIT_US : 4 * USEC_PER_MIN);
		const uint64_t beat_us = ceased ? now_us - STANDSTILL_CEASED_US - USEC_PER_SEC
						: now_us - USEC_PER_MIN;
		struct standstill s = begun();
		enum standstill_state want = is_quiet ? quiet[ceased][ranks]
						      : not_quiet[ceased][ranks];
		struct standstill_found found;

		standstill_take(&s, &(struct standstill_beat){ 1, 100, NULL, 0, 0, done }, beat_us);
		/* That ranks run was known for as long as beats have to follow, or less. */
		if (ranks == STANDSTILL_RANKS_LIVE)
			(void)standstill_judge(&s, ranks, now_us - STANDSTILL_GRACE_US + early);
		found = standstill_judge(&s, ranks, now_us);
		if (done)
			want = STANDSTILL_ENDED;
		else if (early && want == STANDSTILL_STILL && ceased)
			want = STANDSTILL_UNKNOWN;
		CHECK_EQ(found.state, want);
		CHECK_EQ(found.ceased, ceased);
		CHECK_EQ(standstill_asks(&s, now_us), !done && (ceased || is_quiet));
	}
}

static void the_limit_is_floor_and_steps_or_twice_the_longest_pause(void)
{
	static const struct {
		double step_s, pause_s;
		uint64_t want_us;
	} rows[] = {
		{ 0, 0, STANDSTILL_START_US },
		{ 0, 3600, STANDSTILL_START_US },
		{ 0.1, 0, 600 * USEC_PER_SEC + 100 * MSTEPS },
		{ 8, 0, LIMIT_US },
		{ 8, (double)LIMIT_US / 2e6, LIMIT_US },
		{ 8, 500, 1000 * USEC_PER_SEC },
		{ 60, 0, 600 * USEC_PER_SEC + 60000 * MSTEPS },
		{ 8, 3600, 7200 * USEC_PER_SEC },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct standstill s = { .run = 1, .step = 7, .since_us = T0, .heard_us = T0 };

		s.step_s = rows[i].step_s;
		s.pause_s = rows[i].pause_s;
		CHECK_EQ(standstill_judge(&s, 0, T0).limit_us, rows[i].want_us);
		CHECK(!standstill_asks(&s, T0));
		s.heard_us = T0 + rows[i].want_us;
		CHECK_EQ(standstill_judge(&s, 0, T0 + rows[i].want_us - 1).state,
			 STANDSTILL_RUNNING);
		CHECK_EQ(standstill_judge(&s, 0, T0 + rows[i].want_us).state, STANDSTILL_STILL);
	}
}

static void a_pause_that_ended_is_waited_for_twice_and_an_hour_of_it_at_most(void)
{
	struct standstill s = begun();

	standstill_take(&s, &(struct standstill_beat){ 1, 102, NULL, 0, 0, 0 },
			T0 + 20 * USEC_PER_MIN);
	CHECK_NEAR(s.pause_s, 1200 - 8, 1e-6);
	standstill_take(&s, &(struct standstill_beat){ 1, 103, NULL, 0, 0, 0 }, T0 + USEC_PER_DAY);
	CHECK_NEAR(s.pause_s, STANDSTILL_PAUSE_MAX_S, 1e-6);
	/* Hours of steps between two beats show no pause, because step times are not known that well. */
	s = begun();
	standstill_take(&s, &(struct standstill_beat){ 1, 1100, NULL, 0, 0, 0 },
			T0 + 3 * USEC_PER_HOUR);
	CHECK_NEAR(s.pause_s, 10.8, 1e-6);
	/* A later run has such checkpoints too. */
	s.pause_s = 900;
	standstill_take(&s, &(struct standstill_beat){ 2, 5, NULL, 0, 0, 0 }, T0 + USEC_PER_DAY);
	CHECK_NEAR(s.pause_s, 900, 1e-6);
	CHECK_EQ(s.n, 0);
}

static void what_nobody_listened_to_is_no_stillness(void)
{
	const uint64_t later_us = T0 + 5 * USEC_PER_HOUR;
	struct standstill s = begun(), again = { .run = 0 };

	/* A first beat counts from its arrival, however old its step is. */
	standstill_take(
		&again,
		&(struct standstill_beat){ 1, 7, (const double[]){ 1, 1, 1, 1, 1 }, 5, 3600, 0 },
		T0);
	CHECK_EQ(standstill_judge(&again, 0, T0).state, STANDSTILL_RUNNING);
	CHECK_EQ(again.advanced_us, T0 - USEC_PER_HOUR);
	CHECK_EQ(standstill_judge(&again, 1, T0 + STANDSTILL_FLOOR_US + 1000 * MSTEPS).state,
		 STANDSTILL_UNKNOWN);

	standstill_renew(&s, later_us);
	CHECK_EQ(standstill_judge(&s, STANDSTILL_RANKS_LIVE, later_us).state, STANDSTILL_RUNNING);
	CHECK_EQ(standstill_judge(&s, STANDSTILL_RANKS_LIVE, later_us + LIMIT_US - 1).state,
		 STANDSTILL_RUNNING);
	CHECK_EQ(standstill_judge(&s, STANDSTILL_RANKS_LIVE, later_us + LIMIT_US).state,
		 STANDSTILL_STILL);

	s.pause_s = 600;
	s.first_s = 7;
	standstill_restore(&again, &s, later_us);
	CHECK_EQ(standstill_judge(&again, 0, later_us).limit_us, 1200 * USEC_PER_SEC);
	CHECK_EQ(standstill_judge(&again, 0, later_us + 1199 * USEC_PER_SEC).state,
		 STANDSTILL_UNKNOWN);
	standstill_take(&again, &(struct standstill_beat){ 1, 100, NULL, 0, 0, 0 },
			later_us + 1199 * USEC_PER_SEC);
	CHECK_EQ(standstill_judge(&again, 0, later_us + 1199 * USEC_PER_SEC).state,
		 STANDSTILL_RUNNING);
	CHECK_EQ(standstill_judge(&again, 0, later_us + 1200 * USEC_PER_SEC).state,
		 STANDSTILL_STILL);
	CHECK_NEAR(again.first_s, 7, 1e-9);
	CHECK_EQ(again.step, 100);
}

static void what_is_found_is_said(void)
{
	static const struct {
		struct standstill_found found;
		const char *want;
	} rows[] = {
		{ { STANDSTILL_UNKNOWN, 9, 0, 0, 1, 0, 0, 0, true, false },
		  "no beat has arrived since the controller started: step 9" },
		{ { STANDSTILL_STILL, 1204, 14 * USEC_PER_MIN, 0, 8.3, 0, 0, 0, false, false },
		  "no step for 14m; its steps took 8.3 s: step 1204" },
		{ { STANDSTILL_STILL, 3, 3 * USEC_PER_HOUR, 0, 128, 0, 0, 0, false, true },
		  "no step for 3h; its steps took 128 s: step 3; no beats arrive, but its "
		  "ranks are running" },
		{ { STANDSTILL_STILL, 0, 3600 * USEC_PER_SEC, 0, 0, 0, 0, 0, false, false },
		  "no step for 60m: step 0" },
		{ { STANDSTILL_UNKNOWN, 9, 11 * USEC_PER_MIN, 0, 1, 0, 0, 0, false, true },
		  "no step for 11m, no beats arrive, and no agent says whether its ranks are "
		  "running: step "
		  "9" },
		{ { STANDSTILL_ENDED, 9, 0, 0, 1, 0, 0, 0, false, true }, "it has ended: step 9" },
		{ { STANDSTILL_GROWING, 9, 0, 0, 9.4, 1.132, 1.11, 1.149, false, false },
		  "its steps take 9.4 s, 1.13 times [1.11, 1.15] what they took at first: step 9" },
		{ { STANDSTILL_RUNNING, 9, 0, 0, 0.25, 0, 0, 0, false, false },
		  "step 9, 0.25 s a step" },
		{ { STANDSTILL_RUNNING, 9, 0, 0, 0, 0, 0, 0, false, false }, "step 9" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		char *words = standstill_words(&rows[i].found);

		CHECK_STR(words, rows[i].want);
		free(words);
	}
}

/* --- jobs --- */

/* A job, and how it reports its steps. */
struct job {
	struct random chance;
	double step_s, spread, grows, eval_s, save_s, every_s;
	uint64_t eval_every, save_every; /* steps */
	bool beside;			 /* beats are sent in parallel to the loop, in pauses too */
	bool bare;			 /* without durations */
	double now_s, ended_s;		 /* of the last step */
	uint64_t step;
	double seconds[STANDSTILL_BLOCK];
	size_t n; /* since the last beat */
	double beat_s;
	struct standstill s;
	/* Results. */
	bool still, growing;
	double worst; /* quiet / limit */
};

/* Usual steps of 0.2 to 40 s; evaluations of 20 steps, and saves of up to 8 minutes. */
static void job_init(struct job *job, uint64_t seed)
{
	struct random r = random_seeded(seed);

	*job = (struct job){ .step_s = 0.2 * pow(200, random_unit(&r)),
			     .spread = 0.03 + 0.01 * random_unit(&r),
			     .grows = 1,
			     .every_s = 10 + 50 * random_unit(&r),
			     .eval_every = 100 + random_below(&r, 400),
			     .save_every = 150 + random_below(&r, 600),
			     .beside = random_below(&r, 2),
			     .bare = random_below(&r, 4) == 0 };
	job->eval_s = 20 * job->step_s;
	job->save_s = 30 * pow(16, random_unit(&r));
	job->chance = r;
}

static void beat(struct job *job, double at_s)
{
	const struct standstill_beat b = { .run = 1,
					   .step = job->step,
					   .seconds = job->seconds,
					   .n = job->bare ? 0
							  : MIN(job->n, (size_t)STANDSTILL_BLOCK),
					   .age_s = at_s - job->ended_s };
	struct standstill_found found;
	const uint64_t now_us = T0 + (uint64_t)(at_s * 1e6);

	/* Just before: the longest quiet time. */
	if (job->s.heard_us > 0) {
		found = standstill_judge(&job->s, STANDSTILL_RANKS_LIVE, now_us);
		job->still |= found.state == STANDSTILL_STILL;
		job->worst = fmax(job->worst, (double)found.quiet_us / (double)found.limit_us);
	}
	job->beat_s = at_s + job->every_s * (0.9 + 0.2 * random_unit(&job->chance));
	if (random_below(&job->chance, 50) == 0)
		return; /* it is lost */
	CHECK_EQ(standstill_check(&job->s, &b, NULL), 0);
	standstill_take(&job->s, &b, now_us);
	found = standstill_judge(&job->s, STANDSTILL_RANKS_LIVE, now_us);
	job->growing |= found.state == STANDSTILL_GROWING;
	job->n = 0;
}

/* Sends the beats in parallel to the loop until then. */
static void pass(struct job *job, double until_s)
{
	while (job->beside && job->beat_s <= until_s)
		beat(job, job->beat_s);
	job->now_s = until_s;
}

static void take_step(struct job *job)
{
	/* One in a hundred takes several times as long: a Pareto tail of exponent 2. */
	const double tail = random_below(&job->chance, 100) == 0
				    ? fmin(1 / sqrt(random_unit(&job->chance)), 20)
				    : 1;
	const double seconds =
		job->step_s * job->grows * tail * exp(random_normal(&job->chance, 0, job->spread));

	pass(job, job->now_s + seconds);
	job->step++;
	job->ended_s = job->now_s;
	if (job->n == STANDSTILL_BLOCK)
		memmove(job->seconds, job->seconds + 1, --job->n * sizeof(*job->seconds));
	job->seconds[job->n++] = seconds;
	if (!job->beside && job->beat_s <= job->now_s)
		beat(job, job->now_s);
	if (job->step % job->eval_every == 0)
		pass(job, job->now_s + job->eval_s * exp(random_normal(&job->chance, 0, 0.25)));
	if (job->step % job->save_every == 0)
		pass(job, job->now_s + job->save_s * exp(random_normal(&job->chance, 0, 0.1)));
}

enum { STEPS = 3000 }; /* of a run */

struct tally {
	size_t still, growing;
	double worst, mean;
};

static struct tally clean_runs(uint64_t seed, size_t runs)
{
	struct tally tally = { 0, 0, 0, 0 };
	struct job job;
	size_t i;

	for (i = 0; i < runs; i++) {
		job_init(&job, seed + i);
		while (job.step < STEPS)
			take_step(&job);
		tally.still += job.still;
		tally.growing += job.growing;
		tally.worst = fmax(tally.worst, job.worst);
		tally.mean += job.worst / (double)runs;
	}
	return tally;
}

static void of_jobs_that_are_well_none_stands_still_and_none_grows(void)
{
	const size_t runs = test_times(RUNS_FULL, RUNS);
	const struct tally tried = clean_runs(SEEDS_TRIED, runs);
	const struct tally t = clean_runs(SEEDS_HELD_OUT, runs);

	printf("clean runs of %d steps: %zu of %zu told as standing still, %zu as growing (held "
	       "out); "
	       "%zu and %zu (tried); quiet at most %.2f of the limit, %.2f on average\n",
	       STEPS, t.still, runs, t.growing, tried.still, tried.growing, t.worst, t.mean);
	CHECK(t.still * 1000 <= runs);
	CHECK(t.growing * 1000 <= runs);
}

/* Time from the stop to the report, in limits; beats continue in parallel, or agents report. */
static void those_that_stop_are_told_soon_after_the_limit(void)
{
	const size_t runs = test_times(RUNS_FULL / 10, RUNS / 4);
	double longest = 0, sum_s = 0;
	struct job job;
	size_t i;

	for (i = 0; i < runs; i++) {
		struct standstill_found found = { .state = STANDSTILL_RUNNING };
		double stopped_s, limit_s;

		job_init(&job, SEEDS_HELD_OUT + i);
		while (job.step < 50 + STEPS / 4 + random_below(&job.chance, 500))
			take_step(&job);
		stopped_s = job.now_s;
		limit_s = (double)standstill_judge(&job.s, 0, T0 + (uint64_t)(stopped_s * 1e6))
				  .limit_us /
			  1e6;
		/* Agents repeat it every ten minutes. */
		while (found.state != STANDSTILL_STILL && job.now_s < stopped_s + 3 * limit_s) {
			const bool said = job.now_s > stopped_s + 600;

			pass(&job, job.now_s + 10);
			found = standstill_judge(
				&job.s, said ? STANDSTILL_RANKS_LIVE : STANDSTILL_RANKS_UNKNOWN,
				T0 + (uint64_t)(job.now_s * 1e6));
		}
		CHECK_EQ(found.state, STANDSTILL_STILL);
		longest = fmax(longest, (job.now_s - stopped_s) / fmax(limit_s, 720));
		sum_s += job.now_s - stopped_s;
	}
	printf("stopped: all of %zu told, after %.0f min on average, %.2f limits at most\n", runs,
	       sum_s / 60 / (double)runs, longest);
	CHECK(longest < 1.3);
}

static void steps_that_grow_are_told_once_they_are_clear_of_their_spread(void)
{
	static const double times[] = { 1.05, 1.13, 1.2, 1.5 };
	const size_t runs = test_times(RUNS_FULL / 10, RUNS / 4);
	size_t told[ARRAY_SIZE(times)] = { 0 }, bare[ARRAY_SIZE(times)] = { 0 }, n_bare = 0, i, j;
	struct job job;

	for (j = 0; j < ARRAY_SIZE(times); j++) {
		n_bare = 0;
		for (i = 0; i < runs; i++) {
			job_init(&job, SEEDS_HELD_OUT + 17 * runs + i);
			while (job.step < STEPS)
				take_step(&job);
			job.growing = false;
			job.grows = times[j];
			while (job.step < 2 * STEPS)
				take_step(&job);
			n_bare += job.bare;
			bare[j] += job.bare && job.growing;
			told[j] += !job.bare && job.growing;
		}
		printf("steps %.2f times as long: %zu of %zu told, %zu of %zu without durations\n",
		       times[j], told[j], runs - n_bare, bare[j], n_bare);
	}
	CHECK_EQ(told[0], 0);
	CHECK(told[1] * 100 >= (runs - n_bare) * 95);
	CHECK_EQ(told[3], runs - n_bare);
}

/* Random beats with a random clock. */
static void whatever_comes_all_that_is_found_is_a_number(void)
{
	static const double durations[] = { 1e-300, 1e-9, 0.2, 8, 3600, STANDSTILL_SECONDS_MAX };
	struct random r = random_seeded(7);
	size_t i, j, taken = 0;

	for (i = 0; i < 2000; i++) {
		struct standstill s = { .run = 0 };
		uint64_t now_us = T0;

		for (j = 0; j < 200; j++) {
			double seconds[STANDSTILL_BLOCK];
			struct standstill_beat beat = {
				.run = 1 + (int64_t)random_below(&r, 3),
				.step = s.step + random_below(&r, 4) * random_below(&r, 100),
				.seconds = seconds,
				.n = random_below(&r, STANDSTILL_BLOCK + 1),
				.age_s = random_unit(&r) * STANDSTILL_AGE_MAX_S,
				.done = random_below(&r, 50) == 0
			};
			struct standstill_found found;
			size_t k;

			if (random_below(&r, 20) == 0)
				beat.step = STANDSTILL_STEP_MAX;
			for (k = 0; k < beat.n; k++)
				seconds[k] = durations[random_below(&r, ARRAY_SIZE(durations))];
			now_us += random_below(&r, 3) ? random_below(&r, USEC_PER_HOUR)
						      : -(uint64_t)random_below(&r, USEC_PER_MIN);
			if (random_below(&r, 30) == 0)
				standstill_renew(&s, now_us);
			if (standstill_check(&s, &beat, NULL) == 0) {
				standstill_take(&s, &beat, now_us);
				taken++;
			}
			found = standstill_judge(
				&s, (enum standstill_ranks)random_below(&r, STANDSTILL_RANKS_STATES),
				now_us);
			CHECK(found.state < STANDSTILL_STATES && !isnan(found.grown) &&
			      found.step_s >= 0 && found.step_s <= STANDSTILL_SECONDS_MAX &&
			      s.pause_s >= 0 && s.pause_s <= STANDSTILL_PAUSE_MAX_S &&
			      found.limit_us >= STANDSTILL_FLOOR_US &&
			      found.limit_us <= 41 * USEC_PER_DAY);
		}
	}
	CHECK(taken > 10000);
}

static void a_thousand_jobs_cost_little(void)
{
	printf("a run takes %zu bytes, 1,000 of them %.0f KiB\n", sizeof(struct standstill),
	       1000.0 * sizeof(struct standstill) / 1024);
	CHECK(sizeof(struct standstill) <= 512);
}

static const struct test tests[] = {
	TEST(what_cannot_be_is_refused_in_a_sentence),
	TEST(durations_that_came_before_count_once),
	TEST(without_durations_they_are_known_by_the_times_of_beats),
	TEST(every_state_follows_from_ranks_and_beats),
	TEST(the_limit_is_floor_and_steps_or_twice_the_longest_pause),
	TEST(a_pause_that_ended_is_waited_for_twice_and_an_hour_of_it_at_most),
	TEST(what_nobody_listened_to_is_no_stillness),
	TEST(what_is_found_is_said),
	TEST(of_jobs_that_are_well_none_stands_still_and_none_grows),
	TEST(those_that_stop_are_told_soon_after_the_limit),
	TEST(steps_that_grow_are_told_once_they_are_clear_of_their_spread),
	TEST(whatever_comes_all_that_is_found_is_a_number),
	TEST(a_thousand_jobs_cost_little),
};

TEST_SUITE(tests);
