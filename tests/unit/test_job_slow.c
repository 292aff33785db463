/* SPDX-License-Identifier: Apache-2.0 */
/* Suspects whose own runs confirm the slowness that a job reports: slow silicon. */
#include "tests/unit/job_scene.h"

static void scene_of_slow(struct scene *s)
{
	scene_init(s);
	s->hosts[1].is_low[BLAME_COMPUTE] = true;
	s->hosts[1].speed = 0.85;
	s->hosts[1].low = 0.875;
}

static void slow_silicon_is_told_and_neither_evicted_nor_acquitted(void)
{
	CLEANUP(scene_release) struct scene s;
	const struct job_judge_item *item;

	scene_of_slow(&s);
	s.hosts[1].ladders[BLAME_COMPUTE] = LADDER_EXHAUSTED;
	s.hosts[1].clean[BLAME_COMPUTE] = s.hosts[1].slow[BLAME_COMPUTE] = true;
	item = judge(&s);
	CHECK_EQ(item->action, BLAME_WATCH);
	CHECK_EQ(item->incident, BLAME_SILICON);
	CHECK(!item->effect);
	CHECK_HAS(
		item->sentence,
		"its slowest part reaches 0.850 of normal, and 1 good part in 200 is below 0.875");
	CHECK(item->slow);
	s.hosts[1].differs[BLAME_COMPUTE] = true; /* that is told first, and both are */
	item = judge(&s);
	CHECK_EQ(item->incident, BLAME_SET_UP);
	CHECK(item->slow);
	CHECK_HAS(item->sentence, "its slowest part reaches 0.850 of normal");
	s.hosts[1].differs[BLAME_COMPUTE] = false;
	fails(&s); /* that is more */
	CHECK_EQ(judge(&s)->action, BLAME_EVICT);
	CHECK(!judge(&s)->slow);
	s.failure.n_failed = 1;
	CHECK_EQ(judge(&s)->incident, BLAME_CANNOT_TELL);
}

/* It may be busy until its windows clear it. */
static void slow_silicon_is_told_before_its_tests(void)
{
	CLEANUP(scene_release) struct scene s;
	const struct job_judge_item *item;

	scene_of_slow(&s);
	item = judge(&s);
	CHECK_EQ(item->action, BLAME_PROBE);
	CHECK_EQ(item->incident, BLAME_QUIET);
	CHECK(item->slow);
	CHECK_HAS(item->sentence,
		  "test it: a trace alone takes no host out of service; its slowest part reaches "
		  "0.850 of normal, and 1 good part in 200 is below 0.875");
	s.hosts[1].idle = false;
	CHECK(judge(&s)->waits && judge(&s)->slow);
	s.in.under_way = s.policy.jobs.at_once; /* others are tested first */
	CHECK(judge(&s)->queued && judge(&s)->slow);
}

/* What its tests passed before it was known. */
static void slow_silicon_is_told_of_one_that_was_acquitted(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_of_slow(&s);
	s.hosts[1].acquitted_us = NOW - 1;
	CHECK_EQ(judge(&s)->action, BLAME_WATCH);
	CHECK(judge(&s)->acquitted && judge(&s)->slow);
	CHECK_HAS(judge(&s)->sentence, "still holds; its slowest part reaches 0.850 of normal");
}

static void who_is_known_to_be_slow_is_told_of_no_other_ground(void)
{
	static const struct {
		const char *what;
		int class, counts;
		bool booted, low, told;
	} rows[] = {
		{ "so", BLAME_COMPUTE, BLAME_K_OF_N, false, true, true },
		{ "not low", BLAME_COMPUTE, BLAME_K_OF_N, false, false, false },
		{ "one window", BLAME_COMPUTE, BLAME_ONE_WINDOW, false, true, false },
		{ "a link", BLAME_LINK, BLAME_K_OF_N, false, true, false },
		{ "launches", BLAME_LAUNCH, BLAME_K_OF_N, false, true, false },
		{ "another boot", BLAME_COMPUTE, BLAME_K_OF_N, true, true, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(scene_release) struct scene s;

		scene_of_slow(&s);
		s.suspects.items[0].class = rows[i].class;
		s.suspects.items[0].counts = rows[i].counts;
		s.hosts[1].booted = rows[i].booted;
		s.hosts[1].is_low[BLAME_COMPUTE] = rows[i].low;
		if (judge(&s)->slow != rows[i].told)
			CHECK_STR(rows[i].what, "as expected");
		CHECK_EQ(strstr(judge(&s)->sentence, "slowest part") != NULL, rows[i].told);
	}
}

static const struct test tests[] = {
	TEST(slow_silicon_is_told_and_neither_evicted_nor_acquitted),
	TEST(slow_silicon_is_told_before_its_tests),
	TEST(slow_silicon_is_told_of_one_that_was_acquitted),
	TEST(who_is_known_to_be_slow_is_told_of_no_other_ground),
};

TEST_SUITE(tests);
