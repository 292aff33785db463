/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/baseline.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/reference.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

/* A host whose cores all run near `rate`; its peers see nothing. */
static struct report host_of(unsigned number, double rate, double apart, const char *driver)
{
	struct report r = report_make();
	unsigned i;

	free(r.node);
	r.node = xasprintf("host%u", number);
	free(r.sku);
	r.sku = xstrdup("sku-a");
	for (i = 0; i < 8; i++) {
		CLEANUP(freep) char *cpu = xasprintf("cpu:%u", i);
		struct sample *s = report_put(&r, "gemm.rate", cpu, rate + i * apart);

		s->params = json_pack("{s:s}", "driver", driver);
	}
	return r;
}

static struct report host(unsigned number, double rate, const char *driver)
{
	return host_of(number, rate, 0.1, driver);
}

static void learn(struct baselines *b, unsigned number, double rate, const char *driver)
{
	struct report r = host(number, rate, driver);
	const struct verdict *v = judged(&r, NULL);

	baselines_learn(b, &r, v, v->level == VERDICT_FAIL);
	report_release(&r);
}

/* 1: low against the fleet, 0: fine, -1: the fleet says nothing. */
static int asked(const struct baselines *b, unsigned number, double rate, const char *driver)
{
	struct report r = host(number, rate, driver);
	struct expectation e = { 0 };
	struct measure m;
	int answer = -1;

	CHECK(measure_of(&r.samples[0], &m));
	if (baselines_expect(b, &r, &r.samples[0], &m, NULL, &e)) {
		CHECK_EQ(e.source, SOURCE_FLEET);
		answer = e.low;
	}
	report_release(&r);
	return answer;
}

static void a_host_born_slow_is_seen_by_the_fleet(void)
{
	CLEANUP(baselines_release) struct baselines b = { 0 };
	unsigned i;

	for (i = 0; i < 5; i++) {
		/* The parts of three hosts are enough to tell what parts differ by. */
		CHECK_EQ(asked(&b, 99, 40, "550"), i < 3 ? -1 : 1);
		learn(&b, i, 70 + i * 0.2, "550");
	}
	CHECK_EQ(asked(&b, 99, 40, "550"), 1);
	CHECK_EQ(asked(&b, 99, 70, "550"), 0);
	/* Another driver is another world. */
	CHECK_EQ(asked(&b, 99, 40, "560"), -1);
	/* Its own value does not count for a host, but four others and their parts do. */
	CHECK_EQ(asked(&b, 0, 40, "550"), 1);
}

struct asking {
	const struct baselines *baselines;
	const struct report *report;
};

static bool fleet_of(void *context, const struct sample *s, const struct measure *m,
		     struct expectation *ret)
{
	const struct asking *asking = context;

	return baselines_expect(asking->baselines, asking->report, s, m, NULL, ret);
}

/* Of the only baseline. */
static json_int_t hosts_known(const struct baselines *b)
{
	CLEANUP(json_freep) json_t *items = baselines_encode(b);

	CHECK_EQ(json_array_size(items), 1);
	return json_integer_value(json_object_get(json_array_get(items, 0), "hosts"));
}

static void a_suspected_host_is_forgotten_until_it_is_good(void)
{
	CLEANUP(baselines_release) struct baselines b = { 0 };
	struct report sick = host(0, 70, "550");
	const struct verdict *v;
	unsigned i;

	for (i = 0; i < 5; i++)
		learn(&b, i, 70, "550");
	sick.samples[3].value = 20;
	v = judged(&sick, NULL);
	CHECK_EQ(v->level, VERDICT_FAIL);
	baselines_learn(&b, &sick, v, true);
	CHECK_EQ(hosts_known(&b), 4);
	learn(&b, 0, 70, "550");
	CHECK_EQ(hosts_known(&b), 5);
	report_release(&sick);
}

static void a_large_fleet_is_asked_as_well(void)
{
	CLEANUP(baselines_release) struct baselines b = { 0 };
	CLEANUP(json_freep) json_t *items = NULL;
	unsigned i;

	for (i = 0; i < BASELINE_EXACT_MAX + 50; i++)
		learn(&b, i, 70 + i % 10 * 0.1, "550");
	CHECK_EQ(asked(&b, 999, 40, "550"), 1);
	CHECK_EQ(asked(&b, 999, 70, "550"), 0);
	items = baselines_encode(&b);
	CHECK_EQ(json_array_size(items), 1);
	CHECK_EQ(json_integer_value(json_object_get(json_array_get(items, 0), "hosts")),
		 BASELINE_EXACT_MAX + 50);
}

/* One host that invents checks has its share; many fill the table, and take nothing from others. */
static void who_invents_checks_takes_room_from_itself(void)
{
	CLEANUP(baselines_release) struct baselines b = { 0 };
	unsigned i, k;

	for (i = 0; i < 5; i++)
		learn(&b, i, 70, "550");
	for (k = 0; k < 60; k++) {
		struct report liar = report_make();
		const struct verdict *v;

		free(liar.node);
		liar.node = xasprintf("liar%u", k);
		free(liar.sku);
		liar.sku = xstrdup("sku-a");
		for (i = 0; i < 2 * BASELINES_OWN_MAX; i++) {
			CLEANUP(freep) char *check = xasprintf("lie%u.c%u", k, i);

			struct sample *s = report_put(&liar, check, "host", 1);

			free(s->unit);
			s->unit = xstrdup("B/s");
		}
		v = judged(&liar, NULL);
		baselines_learn(&b, &liar, v, false);
		report_release(&liar);
		CHECK(b.n <= MIN(1 + (k + 1) * BASELINES_OWN_MAX, (size_t)BASELINES_MAX));
	}
	CHECK(b.shares.filled > 0);
	CHECK_EQ(asked(&b, 99, 40, "550"), 1);
	/* What is new comes in beside it. */
	for (i = 0; i < 5; i++)
		learn(&b, i, 70, "560");
	CHECK_EQ(asked(&b, 99, 40, "560"), 1);
}

static void parts_that_differ_on_every_host_are_not_low(void)
{
	CLEANUP(baselines_release) struct baselines b = { 0 };
	unsigned i;

	for (i = 0; i < 6; i++) {
		struct report r = host_of(i, 65, 1.4, "550"); /* median 69.9, deviation 3.4 */
		const struct verdict *v = judged(&r, NULL);

		baselines_learn(&b, &r, v, false);
		report_release(&r);
	}
	CHECK_EQ(asked(&b, 99, 65, "550"), 0);
	CHECK_EQ(asked(&b, 99, 40, "550"), 1);
}

/* One core that is a little lower, and measured seventeen times, is not what its host reaches. */
static void a_part_measured_often_is_one_part_of_its_host(void)
{
	CLEANUP(baselines_release) struct baselines b = { 0 };
	CLEANUP(json_freep) json_t *items = NULL;
	struct report r = host_of(0, 70, 0, "550");
	const struct verdict *v;
	unsigned i;

	for (i = 0; i < 16; i++) {
		struct sample copy = r.samples[0];

		copy.check = xstrdup(copy.check);
		copy.subject = xstrdup(copy.subject);
		copy.unit = xstrdup(copy.unit);
		copy.locality = xstrdup(copy.locality);
		json_incref(copy.params);
		copy.value = 69;
		CHECK_EQ(report_add_sample(&r, &copy), 0);
	}
	r.samples[0].value = 69;
	v = judged(&r, NULL);
	baselines_learn(&b, &r, v, false);
	items = baselines_encode(&b);
	CHECK_EQ(json_array_size(items), 1);
	CHECK_NEAR(json_number_value(json_object_get(json_array_get(items, 0), "median")), 70, 0);
	report_release(&r);
}

/* A clock that stands still makes a core three times as fast: told, and not learnt. */
static void what_no_core_can_be_is_not_learnt(void)
{
	CLEANUP(baselines_release) struct baselines b = { 0 };
	unsigned i, run;

	for (i = 0; i < 8; i++)
		learn(&b, i, 70, "550");
	for (run = 0; run < 3; run++) {
		for (i = 0; i < 6; i++) {
			struct report r = host(i, 210, "550");
			struct expectation e;
			struct measure m;
			struct verdict v = { 0 };

			CHECK(measure_of(&r.samples[0], &m));
			CHECK(baselines_expect(&b, &r, &r.samples[0], &m, NULL, &e));
			CHECK(expectation_is_exceeded(&m, &e));
			verdict_judge(&r,
				      &(struct judge_inputs){ .fleet = fleet_of,
							      .fleet_context =
								      &(struct asking){ &b, &r } },
				      &v);
			CHECK_EQ(item_level(&v, "gemm.rate", "cpu:0"), VERDICT_WARN);
			CHECK_HAS(item_find(&v, "gemm.rate", "cpu:0")->sentence,
				  "no such part is that fast");
			baselines_learn(&b, &r, &v, false);
			verdict_release(&v);
			report_release(&r);
		}
	}
	CHECK_EQ(asked(&b, 99, 40, "550"), 1);
	CHECK_EQ(asked(&b, 99, 70, "550"), 0);
}

/* --- parts that spread as silicon does: cores from 100 to 103.5 --- */

/* One run at a rate, whose slowest core is as slow; 1: low against the fleet. Learnt, like any. */
static int run_at(struct baselines *b, unsigned number, const double rates[static 2],
		  const char *driver, bool *ret_deep)
{
	struct report r = host_of(number, rates[0], 0.5, driver);
	struct expectation e = { 0 };
	struct measure m;

	r.samples[0].value = rates[1];
	CHECK(measure_of(&r.samples[0], &m));
	(void)baselines_expect(b, &r, &r.samples[0], &m, NULL, &e);
	baselines_learn(b, &r, judged(&r, NULL), false);
	report_release(&r);
	*ret_deep = e.deep;
	return e.low;
}

static int run_slow(struct baselines *b, unsigned number, double slowest, const char *driver,
		    bool *ret_deep)
{
	return run_at(b, number, (const double[]){ 100, slowest }, driver, ret_deep);
}

static void run_all(struct baselines *b, const double *slowest, unsigned n, const char *driver)
{
	bool deep;
	unsigned i;

	for (i = 0; i < n; i++)
		(void)run_slow(b, i, slowest[i], driver, &deep);
}

/* A ladder of good cores, of which the third gets another driver, with hosts that have no such. */
static void a_core_that_was_among_others_is_not_alone_with_another_driver(void)
{
	static const double ladder[] = { 76, 73, 70, 72, 79, 82, 85, 88, 91, 94, 97, 100 };
	static const double with_new[] = { 100, 100, 70, 100, 100, 100 };
	struct baselines b = { 0 };
	bool deep;
	unsigned r;

	for (r = 0; r < 6; r++)
		run_all(&b, ladder, ARRAY_SIZE(ladder), "550");
	for (r = 0; r < 3; r++)
		run_all(&b, with_new, ARRAY_SIZE(with_new), "570");
	CHECK_EQ(run_slow(&b, 2, 70, "570", &deep), 0);
	CHECK(!deep);
	/* It is slower than it was. */
	CHECK_EQ(run_slow(&b, 2, 62, "570", &deep), 1);
	baselines_release(&b);
	judged_done();
}

/* Four others do not tell which host is low as a whole: its slowest core is a slow one all the same. */
static void a_host_of_five_that_is_low_has_a_slow_core_too(void)
{
	static const double rates[][2] = {
		{ 100, 100 }, { 100, 100 }, { 100, 100 }, { 100, 78.5 }, { 93, 80 },
	};
	struct baselines b = { 0 };
	int low = -1;
	bool deep;
	unsigned i, r;

	for (r = 0; r < 10; r++) {
		for (i = 0; i < ARRAY_SIZE(rates); i++) {
			const int is = run_at(&b, i, rates[i], "550", &deep);

			low = i == 3 ? is : low;
		}
	}
	CHECK_EQ(low, 0);
	baselines_release(&b);
	judged_done();
}

/* Two checks in turn: the cores of one are slow as a whole, and one is slower; memory is as usual. */
static struct report two_checks(unsigned number, double rate, double slowest)
{
	struct report r = report_make();
	unsigned i;

	free(r.node);
	r.node = xasprintf("host%u", number);
	free(r.sku);
	r.sku = xstrdup("sku-a");
	for (i = 0; i < 8; i++) {
		CLEANUP(freep) char *cpu = xasprintf("cpu:%u", i);

		report_put(&r, "gemm.rate", cpu, i ? rate + i * 0.1 : slowest);
		report_put(&r, "memory.device_bw", cpu, 200 + i * 0.1);
	}
	return r;
}

/* What is kept from one sample to the next is never that of another check. */
static void all_samples_of_a_report_get_the_answers_that_each_gets_alone(void)
{
	CLEANUP(baselines_release) struct baselines b = { 0 };
	struct baseline_last last = { 0 };
	struct report r;
	unsigned i, low = 0;

	for (i = 0; i < 8 * 10; i++) {
		r = two_checks(i % 8, 100, 100);
		baselines_learn(&b, &r, judged(&r, NULL), false);
		report_release(&r);
	}
	r = two_checks(8, 90, 89);
	for (i = 0; i < r.n_samples; i++) {
		struct expectation alone = { 0 }, next = { 0 };
		struct measure m;

		CHECK(measure_of(&r.samples[i], &m));
		CHECK(baselines_expect(&b, &r, &r.samples[i], &m, NULL, &alone));
		CHECK(baselines_expect(&b, &r, &r.samples[i], &m, &last, &next));
		CHECK_EQ(next.low, alone.low);
		CHECK_EQ(next.parts, alone.parts);
		CHECK_NEAR(next.floor, alone.floor, 0);
		low += next.low;
	}
	CHECK_EQ(low, 8);
	report_release(&r);
	judged_done();
}

/* What takes a millisecond in a large fleet is worked out when it is asked for, and told again. */
static void the_median_of_a_large_fleet_is_worked_out_once(void)
{
	static const struct baseline_about about = { "sku-a", "gemm.rate", "", "FLOP/s", "{}", 0 };
	CLEANUP(baselines_release) struct baselines b = { 0 };
	struct baseline *line = baselines_need(&b, &about);
	size_t hosts = 7;
	unsigned i;

	CHECK(isnan(baseline_median(line, true, &hosts)));
	CHECK_EQ(hosts, 0);
	for (i = 0; i <= BASELINE_EXACT_MAX; i++) {
		CLEANUP(freep) char *node = xasprintf("host%u", i);
		const struct baseline_host host = { node, i < 3 ? 60 + 10 * i : 90, 0 };

		baseline_put(line, &host);
		if (i == 2)
			CHECK_NEAR(baseline_median(line, false, &hosts), 70, 1e-9);
	}
	CHECK(isnan(baseline_median(line, false, &hosts)));
	CHECK_EQ(hosts, BASELINE_EXACT_MAX + 1);
	CHECK_NEAR(baseline_median(line, true, &hosts), 90, 1e-9);
	CHECK_NEAR(baseline_median(line, false, &hosts), 90, 1e-9);
}

static const struct test tests[] = {
	TEST(the_median_of_a_large_fleet_is_worked_out_once),
	TEST(what_no_core_can_be_is_not_learnt),
	TEST(a_core_that_was_among_others_is_not_alone_with_another_driver),
	TEST(a_host_of_five_that_is_low_has_a_slow_core_too),
	TEST(all_samples_of_a_report_get_the_answers_that_each_gets_alone),
	TEST(a_part_measured_often_is_one_part_of_its_host),
	TEST(a_host_born_slow_is_seen_by_the_fleet),
	TEST(a_suspected_host_is_forgotten_until_it_is_good),
	TEST(who_invents_checks_takes_room_from_itself),
	TEST(parts_that_differ_on_every_host_are_not_low),
	TEST(a_large_fleet_is_asked_as_well),
};

TEST_SUITE(tests, .end = judged_done);
