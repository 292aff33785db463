/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/advice.h"

#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define NOW (1000 * USEC_PER_DAY)

/* A host is to be replaced, and all speaks for it. */
static const struct advice_facts wanted = {
	.now_us = NOW, .prediction = 7, .running = true, .pays = true, .spares = true
};
static const struct advice_last stop = { ADVICE_STOP, ADVICE_TO_REPLACE, 7, NOW + ADVICE_STOP_US,
					 0 };
static const struct advice_last stopped = { ADVICE_STOP, ADVICE_TO_REPLACE, 7, NOW + ADVICE_STOP_US,
					    NOW };

static void a_job_is_told_to_stop_only_when_all_speaks_for_it(void)
{
	static const struct {
		bool running, pays, spares, to_test;
		int kind, why;
	} rows[] = {
		{ true, true, true, false, ADVICE_STOP, ADVICE_TO_REPLACE },
		{ true, true, true, true, ADVICE_STOP, ADVICE_TO_TEST },
		{ false, true, true, false, ADVICE_CONTINUE, ADVICE_NOT_RUNNING },
		{ true, false, true, false, ADVICE_CONTINUE, ADVICE_PAYS_NOT },
		{ true, true, false, false, ADVICE_CONTINUE, ADVICE_NO_SPARE },
		{ false, false, false, true, ADVICE_CONTINUE, ADVICE_NOT_RUNNING },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct advice_facts facts = wanted;
		struct advice_last last = { 0 };
		struct advice_next next;

		facts.running = rows[i].running;
		facts.pays = rows[i].pays;
		facts.spares = rows[i].spares;
		facts.to_test = rows[i].to_test;
		CHECK(advice_next(&last, &facts, &next));
		CHECK_EQ(next.kind, rows[i].kind);
		CHECK_EQ(next.why, rows[i].why);
		CHECK_EQ(next.expires_us, next.kind == ADVICE_STOP ? NOW + ADVICE_STOP_US : 0);
		/* It is said once. */
		last = (struct advice_last){ next.kind, next.why, 7, next.expires_us, 0 };
		facts.pending = true;
		CHECK(!advice_next(&last, &facts, &next));
	}
}

static void nothing_is_said_of_nothing_and_nothing_twice(void)
{
	struct advice_facts facts = wanted;
	struct advice_last last = { 0 };
	struct advice_next next;

	facts.prediction = 0;
	CHECK(!advice_next(&last, &facts, &next));
	facts = wanted;
	facts.advised = true;
	CHECK(!advice_next(&last, &facts, &next));
	last = (struct advice_last){ ADVICE_RESUME, ADVICE_REPLACED, 7, NOW, NOW };
	CHECK(!advice_next(&last, &facts, &next));
	facts.advised = false; /* another prediction, of the next run */
	facts.prediction = 8;
	CHECK(advice_next(&last, &facts, &next));
	CHECK_EQ(next.kind, ADVICE_STOP);
	/* A spare has come. */
	last = (struct advice_last){ ADVICE_CONTINUE, ADVICE_NO_SPARE, 8, 0, 0 };
	CHECK(advice_next(&last, &facts, &next));
	CHECK_EQ(next.kind, ADVICE_STOP);
}

static void a_stop_expires_or_is_withdrawn(void)
{
	struct advice_facts facts = wanted;
	struct advice_next next;

	facts.pending = true;
	facts.now_us = stop.expires_us - 1;
	CHECK(!advice_next(&stop, &facts, &next));
	CHECK_STR(advice_state(&stop, facts.now_us), "open");
	facts.now_us++;
	CHECK_STR(advice_state(&stop, facts.now_us), "expired");
	CHECK(advice_next(&stop, &facts, &next));
	CHECK_EQ(next.kind, ADVICE_CONTINUE);
	CHECK_EQ(next.why, ADVICE_EXPIRED);
	facts.now_us = NOW;
	facts.pending = false;
	CHECK(advice_next(&stop, &facts, &next));
	CHECK_EQ(next.why, ADVICE_WITHDRAWN);
	facts.out = true; /* it is out of service, and the job runs on what is left of it still */
	CHECK(!advice_next(&stop, &facts, &next));
}

static void whoever_stopped_is_told_to_go_on(void)
{
	static const struct {
		bool out, pending;
		uint64_t later_us;
		int why; /* ADVICE_NOTHING: wait */
	} rows[] = {
		{ true, false, 0, ADVICE_REPLACED },
		{ false, false, 0, ADVICE_CLEARED },
		{ false, true, ADVICE_HELD_US - 1, ADVICE_NOTHING },
		{ true, true, 0, ADVICE_NOTHING }, /* one of two */
		{ false, true, ADVICE_HELD_US, ADVICE_WAITED },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct advice_facts facts = wanted;
		struct advice_next next = { 0 };

		facts.out = rows[i].out;
		facts.pending = rows[i].pending;
		facts.now_us += rows[i].later_us;
		CHECK_EQ(advice_next(&stopped, &facts, &next), rows[i].why != ADVICE_NOTHING);
		CHECK_EQ(next.why, rows[i].why);
		CHECK_EQ(next.kind, rows[i].why ? ADVICE_RESUME : ADVICE_CONTINUE);
	}
	CHECK(advice_is_under_way(&stopped));
	CHECK_STR(advice_state(&stopped, NOW + USEC_PER_DAY), "acknowledged");
}

/* Facts at random for a day: a job that stopped is told to resume, and none is stopped without a
 * spare. */
static void whatever_happens_a_stopped_job_is_told_to_resume(void)
{
	size_t rounds = test_times(20000, 2000), stops = 0, resumes = 0, i;
	struct random random = random_seeded(15);

	for (i = 0; i < rounds; i++) {
		struct advice_last last = { 0 };
		uint64_t now_us = NOW;

		for (; now_us < NOW + USEC_PER_DAY; now_us += USEC_PER_MIN) {
			struct advice_facts facts = { .now_us = now_us,
						      .prediction =
							      (int64_t)random_below(&random, 3),
						      .advised = random_below(&random, 2),
						      .running = random_below(&random, 4),
						      .pays = random_below(&random, 4),
						      .spares = random_below(&random, 2),
						      .out = random_below(&random, 30) == 0,
						      .pending = random_below(&random, 60) != 0 };
			struct advice_next next;

			if (last.kind == ADVICE_STOP && !last.done_us &&
			    random_below(&random, 9) == 0)
				last.done_us = now_us;
			if (last.kind == ADVICE_STOP) {
				CHECK(now_us <= last.expires_us + ADVICE_HELD_US + USEC_PER_MIN);
			}
			if (!advice_next(&last, &facts, &next))
				continue;
			stops += next.kind == ADVICE_STOP;
			resumes += next.kind == ADVICE_RESUME;
			CHECK(next.kind != ADVICE_STOP ||
			      (facts.spares && facts.pays && facts.running));
			CHECK_EQ(next.kind == ADVICE_RESUME,
				 last.kind == ADVICE_STOP && last.done_us > 0);
			last = (struct advice_last){ next.kind, next.why, facts.prediction,
						     next.expires_us, 0 };
		}
	}
	CHECK(stops > 100 && resumes > 100);
}

static const struct test tests[] = {
	TEST(a_job_is_told_to_stop_only_when_all_speaks_for_it),
	TEST(nothing_is_said_of_nothing_and_nothing_twice),
	TEST(a_stop_expires_or_is_withdrawn),
	TEST(whoever_stopped_is_told_to_go_on),
	TEST(whatever_happens_a_stopped_job_is_told_to_resume),
};

TEST_SUITE(tests);
