/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of simulated jobs: the blamed hosts, and windows that are skipped. */
#include "tests/sim/job_window.h"

#include <errno.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/json/json.h"
#include "lib/policy/blame.h"
#include "tests/sim/job_plan.h"
#include "tests/sim/noise.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

static struct job_window_case even(int dp, int pp, uint64_t seed)
{
	struct job_window_case of = { .dp = dp, .pp = pp, .seed = seed };
	size_t i;

	of.min_gain = SUSPECTS_MIN_GAIN;
	of.share = SUSPECTS_SHARE;
	for (i = 0; i < JOB_PLAN_HOSTS_MAX; i++)
		of.speeds[i] = 1;
	return of;
}

static void equal_hosts_blame_nobody_and_are_passed_over(void)
{
	const struct job_window_case of = even(8, 2, 1);
	const struct job_window_result found = job_window_find(&of);

	CHECK(!job_window_may_blame(&of));
	CHECK_EQ(found.n, 0);
	CHECK_NEAR(found.slowdown, 1, 0.05);
}

static void a_host_that_is_a_quarter_slower_is_blamed(void)
{
	static const int shapes[][2] = { { 8, 1 }, { 4, 2 }, { 8, 2 }, { 4, 4 } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct job_window_case of = even(shapes[i][0], shapes[i][1], i + 1);
		struct job_window_result found;
		const size_t slow = i + 2;

		of.speeds[slow] = 0.75;
		found = job_window_find(&of);
		CHECK(job_window_may_blame(&of));
		CHECK_EQ(found.n, 1);
		CHECK_EQ(found.list[0].worker, slow);
		CHECK_EQ(found.list[0].class, BLAME_COMPUTE);
		CHECK(found.list[0].identifiable);
		CHECK_EQ(found.class, BLAME_COMPUTE);
		CHECK(found.slowdown > 1.1);
	}
}

static void two_hosts_that_are_slow_are_both_blamed(void)
{
	struct job_window_case of = even(8, 2, 3);
	struct job_window_result found;
	size_t i, right = 0;

	of.speeds[3] = 0.7;
	of.speeds[10] = 0.68;
	found = job_window_find(&of);
	CHECK(job_window_may_blame(&of));
	for (i = 0; i < found.n; i++)
		right += found.list[i].worker == 3 || found.list[i].worker == 10;
	CHECK_EQ(found.n, 2);
	CHECK_EQ(right, 2);
}

static void a_job_that_slows_itself_blames_nobody(void)
{
	struct job_window_case of = even(4, 4, 4);

	of.own = "last-stage";
	CHECK_EQ(job_window_find(&of).n, 0);
	CHECK_EQ(job_window_find(&of).class, BLAME_JOB);
}

/* Good hosts with their tail, and in half of the jobs one that lost up to 40 %. */
static struct job_window_case drawn(uint64_t seed)
{
	static const int shapes[][2] = { { 8, 1 }, { 4, 2 }, { 16, 1 }, { 8, 2 }, { 4, 4 } };
	struct random chance = random_seeded(seed);
	const size_t shape = random_below(&chance, ARRAY_SIZE(shapes));
	struct job_window_case of = even(shapes[shape][0], shapes[shape][1], seed);
	const size_t n = (size_t)(of.dp * of.pp);
	size_t i;

	for (i = 0; i < n; i++)
		of.speeds[i] = noise_silicon(&chance, 0.034);
	if (seed % 2)
		of.speeds[random_below(&chance, n)] *= 1 - 0.4 * random_unit(&chance);
	return of;
}

static void who_is_blamed_is_never_passed_over(void)
{
	const size_t times = test_times(2000, 240);
	size_t blamed = 0, passed_over = 0;
	uint64_t seed;

	for (seed = 1; seed <= times; seed++) {
		const struct job_window_case of = drawn(seed);
		const bool may = job_window_may_blame(&of);
		const bool does = job_window_find(&of).n > 0;

		CHECK(may || !does);
		blamed += does;
		passed_over += !may;
	}
	/* It tells something only where both are common. */
	CHECK(blamed * 20 >= times);
	CHECK(passed_over * 4 >= times);
}

static int decode(const char *text, struct job_plan *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = json_loads(text, 0, NULL);
	const struct jval v = jval_root(value, "f");

	*ret = job_plan_init();
	return job_plan_decode(&v, ret, err);
}

static void a_plan_is_read_and_a_bad_one_names_the_place(void)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "{\"count\": 5000}", "count" },
		{ "{\"lie_percent\": 101}", "lie_percent" },
		{ "{\"least\": 4}", "least" },
		{ "{\"least\": 32, \"most\": 16}", "least is more than most" },
		{ "{\"every\": \"1s\"}", "every of a minute" },
		{ "{\"often\": 1}", "often" },
	};
	struct job_plan plan;
	struct err err = ERR_INIT;
	size_t i;

	CHECK_EQ(decode("{\"count\": 3, \"lie_percent\": 20, \"run\": \"3h\"}", &plan, &err), 0);
	CHECK_EQ(plan.count, 3);
	CHECK_NEAR(plan.lie, 0.2, 1e-12);
	CHECK_NEAR(plan.stale, job_plan_init().stale, 1e-12);
	CHECK_EQ(plan.run_us, 3 * USEC_PER_HOUR);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK_EQ(decode(bad[i].text, &plan, &err), -EINVAL);
		CHECK_HAS(err.msg, bad[i].says);
	}
}

static const struct test tests[] = {
	TEST(equal_hosts_blame_nobody_and_are_passed_over),
	TEST(a_host_that_is_a_quarter_slower_is_blamed),
	TEST(two_hosts_that_are_slow_are_both_blamed),
	TEST(a_job_that_slows_itself_blames_nobody),
	TEST(who_is_blamed_is_never_passed_over),
	TEST(a_plan_is_read_and_a_bad_one_names_the_place),
};

TEST_SUITE(tests);
