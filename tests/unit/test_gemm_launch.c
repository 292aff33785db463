/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <sched.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/gemm/gemm_data.h"
#include "probes/gemm/gemm_place.h"
#include "probes/memory/numa.h"
#include "tests/unit/gemm_fixture.h"
#include "tests/unit/test.h"

/* A host whose products are never waited for. */
static struct accel_sim fast_8(uint64_t seed, double launch_us)
{
	struct accel_sim sim = sim_make_8(seed);
	unsigned i;

	sim.flop_per_s = 1e9;
	for (i = 0; i < sim.n_devices; i++)
		sim.launch_us[i] = launch_us;
	return sim;
}

static struct gemm_plan launch_plan(void)
{
	struct gemm_plan plan = sim_plan();

	plan.launch = true;
	return plan;
}

static void a_launch_takes_what_it_takes(void)
{
	struct accel_sim sim = fast_8(1, 3);
	CLEANUP(ran_release) struct ran ran = { 0 };
	const struct sample *s, *tail;

	sim.launch_us[5] = 3.3;
	ran = sim_run_plan(&sim, launch_plan());
	CHECK_EQ(ran.r, 0);
	s = ran_sample(&ran, "gemm.launch", "cpu:0");
	CHECK(s && s->state == SAMPLE_MEASURED && s->n == GEMM_WINDOWS && s->w.n == GEMM_WINDOWS);
	CHECK_NEAR(s->value, 3e-6, 0.02e-6);
	CHECK_STR(s->unit, "s");
	CHECK_EQ(s->better, BETTER_LOWER);
	CHECK_STR(json_string_value(json_object_get(s->params, "shape")), "16x16x16");
	CHECK_STR(json_string_value(json_object_get(s->params, "cpus")), "any");
	CHECK(s->note && strstr(s->note, "a launch takes the host 3.0"));
	s = ran_sample(&ran, "gemm.launch", "cpu:5");
	CHECK(s != NULL);
	CHECK_NEAR(s->value, 3.3e-6, 0.02e-6);
	tail = ran_sample(&ran, "gemm.launch_p99", "cpu:0");
	CHECK(tail && tail->state == SAMPLE_MEASURED && tail->better == BETTER_NONE);
	CHECK(tail->value > 3e-6 && tail->value < 3.15e-6);
	CHECK(ran_sample(&ran, "gemm.launch_far", "cpu:0") == NULL);
	CHECK_EQ(sim.alive, 0);
}

/* One launch of a hundred is late: the tail shows it, the median does not. */
static void what_disturbs_shows_in_the_tail(void)
{
	struct accel_sim sim = fast_8(2, 3);
	CLEANUP(ran_release) struct ran ran = { 0 };
	const struct sample *s, *tail;

	sim.launch_late_us = 40;
	ran = sim_run_plan(&sim, launch_plan());
	s = ran_sample(&ran, "gemm.launch", "cpu:3");
	tail = ran_sample(&ran, "gemm.launch_p99", "cpu:3");
	CHECK(s && tail);
	CHECK_NEAR(s->value, 3e-6, 0.02e-6);
	CHECK_NEAR(tail->value, 40e-6, 0.5e-6);
}

static void a_device_that_hangs_in_it_is_a_timeout(void)
{
	struct accel_sim sim = fast_8(3, 3);
	CLEANUP(ran_release) struct ran good = sim_run_plan(&sim, launch_plan());
	const struct sample *s = ran_sample(&good, "gemm.launch", "cpu:2");
	CLEANUP(ran_release) struct ran ran = { 0 };

	CHECK(s && s->state == SAMPLE_MEASURED);
	sim.hang_at_us[2] = (uint64_t)(s->start * 1e6) + 1000; /* amid its launches */
	ran = sim_run_plan(&sim, launch_plan());
	s = ran_sample(&ran, "gemm.launch", "cpu:2");
	CHECK(s && s->state == SAMPLE_TIMEOUT);
	s = ran_sample(&ran, "gemm.launch", "cpu:1");
	CHECK(s && s->state == SAMPLE_MEASURED);
}

static void unasked_it_is_left_out(void)
{
	struct accel_sim sim = fast_8(4, 3);
	CLEANUP(ran_release) struct ran ran = sim_run(&sim);

	CHECK_EQ(ran.r, 0);
	CHECK(ran_sample(&ran, "gemm.launch", "cpu:0") == NULL);
}

/* `n` nodes, each with one core: its number. */
static struct numa_host nodes_of(struct numa_node *nodes, unsigned *cores, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		cores[i] = (unsigned)i;
		nodes[i] = (struct numa_node){ .id = (unsigned)i,
					       .cores = { .v = &cores[i], .n = 1 } };
	}
	return (struct numa_host){ .nodes = nodes, .n = n };
}

static const char *cpus_of(const struct gemm_device *d, enum gemm_side side)
{
	static char text[8];
	CLEANUP(json_freep) json_t *params = json_object();

	gemm_place_params(d, side, params);
	(void)snprintf(text, sizeof(text), "%s", json_string_value(json_object_get(params, "cpus")));
	return text;
}

static void the_far_side_is_another_node_with_cores(void)
{
	struct numa_node nodes[4];
	unsigned cores[4];
	struct numa_host host = nodes_of(nodes, cores, 4);
	struct gemm_plan plan = { .numa = &host };
	struct gemm_device d = { .plan = &plan, .info.numa = 1 };

	CHECK(gemm_place_has(&d, GEMM_NEAR) && gemm_place_has(&d, GEMM_FAR));
	CHECK_STR(cpus_of(&d, GEMM_NEAR), "near");
	CHECK_STR(cpus_of(&d, GEMM_FAR), "far");
	/* Memory of GPUs: a node without cores (GH200) is no place for a thread. */
	host.n = 2;
	nodes[0].cores.n = 0;
	CHECK(gemm_place_has(&d, GEMM_NEAR) && !gemm_place_has(&d, GEMM_FAR));
	d.info.numa = 0;
	CHECK(!gemm_place_has(&d, GEMM_NEAR) && !gemm_place_has(&d, GEMM_FAR));
	CHECK(!gemm_place_is_sure(&d));
	d.info.numa = -1;
	CHECK(!gemm_place_has(&d, GEMM_NEAR) && !gemm_place_is_sure(&d));
	CHECK_STR(cpus_of(&d, GEMM_NEAR), "any");
	plan.numa = NULL;
	CHECK(!gemm_place_has(&d, GEMM_NEAR) && !gemm_place_has(&d, GEMM_FAR));
	CHECK(gemm_place_is_sure(&d)); /* no nodes: all are as near */
}

static void a_thread_is_bound_and_let_go_again(void)
{
	struct numa_node nodes[2];
	unsigned cores[2];
	struct numa_host host = nodes_of(nodes, cores, 2);
	struct gemm_plan plan = { .numa = &host };
	struct gemm_device d = { .plan = &plan, .info.numa = 0 };
	struct gemm_place place;
	cpu_set_t before, set;

	CHECK_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
	if (!CPU_ISSET(0, &before) || !CPU_ISSET(1, &before))
		return; /* not the cores of this test */
	gemm_place_enter(&d, GEMM_NEAR, &place);
	CHECK_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
	CHECK(CPU_COUNT(&set) == 1 && CPU_ISSET(0, &set));
	gemm_place_leave(&place);
	gemm_place_enter(&d, GEMM_FAR, &place);
	CHECK_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
	CHECK(CPU_COUNT(&set) == 1 && CPU_ISSET(1, &set));
	gemm_place_leave(&place);
	CHECK_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
	CHECK(CPU_EQUAL(&set, &before));
}

/* The nearest of all that E4M3 has, by trying them all. */
static void fp8_data_is_the_nearest_there_is(void)
{
	enum { N = 4096 };
	static double real[N];
	static uint8_t narrow[N];
	unsigned distinct[256] = { 0 }, n_distinct = 0;
	size_t i, bits;

	gemm_fill_random(ACCEL_F64, N, 7, real);
	gemm_fill_random(ACCEL_FP8, N, 7, narrow);
	for (i = 0; i < N; i++) {
		double best = INFINITY, value = NAN;

		for (bits = 0; bits < 256; bits++) {
			int exponent = (int)(bits >> 3 & 15), mantissa = (int)(bits & 7);
			double of = exponent ? ldexp(8 + mantissa, exponent - 10)
					     : ldexp(mantissa, -9);

			of = bits & 0x80 ? -of : of;
			best = fmin(best, fabs(of - real[i]));
			value = bits == narrow[i] ? of : value;
		}
		CHECK(fabs(value - real[i]) <= best * (1 + 1e-12));
		n_distinct += distinct[narrow[i]]++ == 0;
	}
	/* All magnitudes up to 1 in both signs, but for the rarest. */
	CHECK(n_distinct > 70);
}

static const struct test tests[] = {
	TEST(a_launch_takes_what_it_takes),
	TEST(what_disturbs_shows_in_the_tail),
	TEST(a_device_that_hangs_in_it_is_a_timeout),
	TEST(unasked_it_is_left_out),
	TEST(the_far_side_is_another_node_with_cores),
	TEST(a_thread_is_bound_and_let_go_again),
	TEST(fp8_data_is_the_nearest_there_is),
};

TEST_SUITE(tests);
