/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"
#include "lib/judge/stats.h"
#include "lib/judge/verdict.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

static struct measure measure_make(const char *check, double value, bool lower)
{
	const struct family *family = family_find(check, "B/s");

	return (struct measure){
		.value = value,
		.lower = lower,
		.family = family,
		.slack = family->slack,
		.k = REFERENCE_K,
	};
}

static void every_check_has_the_slack_of_its_family(void)
{
	static const struct {
		const char *check, *unit;
		double slack;
		bool compared, count;
	} cases[] = {
		{ "gemm.rate", "FLOP/s", 0.05, true, false },
		{ "gemm.overlap", "1", 0.05, true, false },
		{ "gemm.burn_kept", "1", 0.05, true, false },
		{ "gemm.burn_hbm_temp", "1", 0.15, true, false },
		{ "gemm.launch", "s", 0.06, true, false },
		{ "all_to_all.busbw", "B/s", 0.05, true, false },
		{ "all_to_all.rnic_pair_bw", "B/s", 0.07, true, false },
		{ "all_reduce.skew", "s", 0.05, true, false },
		{ "memory.device_bw", "B/s", 0.05, true, false },
		{ "memory.copy_bw", "B/s", 0.10, true, false },
		{ "rnic_pair.write_lat", "s", 0.07, true, false },
		{ "loopback.write_bw", "B/s", 0.10, true, false },
		{ "host.edac_corrected", "1", 0.10, false, false },
		{ "rnic.symbol_errors", "1", 0.10, false, false },
		{ "gpu.temperature", "1", 0.10, false, false },
		{ "inventory.gpus", "1", 0, false, true },
		{ "inventory.dimm_bytes", "1", 0.01, false, true },
		{ "theirs.rate", "B/s", 0.10, true, false },
		{ "theirs.errors", "1", 0.10, false, false },
		{ "theirs.nothing", NULL, 0.10, false, false },
		{ "", "s", 0.10, true, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct family *f = family_find(cases[i].check, cases[i].unit);

		CHECK_NEAR(f->slack, cases[i].slack, 0);
		CHECK_EQ(f->compared, cases[i].compared);
		CHECK_EQ(f->count, cases[i].count);
	}
}

static void only_a_measured_value_with_a_better_side_is_compared(void)
{
	CLEANUP(report_release) struct report r = report_make();
	struct sample *s = report_put(&r, "gemm.rate", "cpu:0", 5);
	struct measure m;

	CHECK(measure_of(s, &m) && m.value == 5 && !m.lower);
	s->better = BETTER_LOWER;
	CHECK(measure_of(s, &m) && m.lower);
	s->better = BETTER_NONE;
	CHECK(!measure_of(s, &m));
	s->better = BETTER_HIGHER;
	s->value = NAN;
	CHECK(!measure_of(s, &m));
	s->value = INFINITY;
	CHECK(!measure_of(s, &m));
	s->value = 5;
	s->state = SAMPLE_BUSY;
	CHECK(!measure_of(s, &m));
	s = report_put(&r, "inventory.gpus", "host", 8);
	s->better = BETTER_NONE;
	CHECK(measure_of(s, &m) && !m.lower);
}

static void peers_of_one_value_give_the_floor_of_the_family(void)
{
	static const double same[] = { 100, 100, 100, 100, 100, 100, 100 };
	static const struct {
		const char *check;
		double value, floor;
		bool lower, low, far;
	} cases[] = {
		{ "gemm.rate", 95, 95, false, false, false },
		{ "gemm.rate", 94.9, 95, false, true, false },
		{ "gemm.rate", 85, 95, false, true, false },
		{ "gemm.rate", 84.9, 95, false, true, true },
		{ "gemm.rate", 200, 95, false, false, false },
		{ "rnic_pair.write_bw", 92.9, 93, false, true, false },
		{ "loopback.write_bw", 90.1, 90, false, false, false },
		{ "loopback.write_bw", 89.9, 90, false, true, false },
		{ "rnic_pair.write_lat", 106.9, 107, true, false, false },
		{ "rnic_pair.write_lat", 107.1, 107, true, true, false },
		{ "rnic_pair.write_lat", 118, 107, true, true, true },
		{ "rnic_pair.write_lat", 0, 107, true, false, false },
		{ "gemm.rate", 0, 95, false, true, true },
		{ "gemm.rate", -5, 95, false, true, true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct measure m = measure_make(cases[i].check, cases[i].value, cases[i].lower);
		struct expectation e = { 0 };

		CHECK(expectation_from_peers(&m, same, 7, &e));
		CHECK_NEAR(e.expected, 100, 0);
		CHECK_NEAR(e.floor, cases[i].floor, 1e-9);
		CHECK_EQ(e.n, 7);
		CHECK_EQ(e.source, SOURCE_PEERS);
		CHECK_EQ(e.low, cases[i].low);
		CHECK_EQ(e.far, cases[i].far);
		CHECK_EQ(e.margin < 1, e.low);
	}
}

static void noisy_peers_widen_the_floor(void)
{
	/* median 100, deviations 0 2 2 4 4 6 6: MAD 4, sigma 5.93, 3.5 of it 20.8 */
	static const double noisy[] = { 94, 96, 98, 100, 102, 104, 106 };
	struct measure m = measure_make("gemm.rate", 90, false);
	struct expectation e;

	CHECK(expectation_from_peers(&m, noisy, 7, &e));
	CHECK_NEAR(e.floor, 100 - 3.5 * 1.4826 * 4, 1e-9);
	CHECK(!e.low);
}

static void a_part_may_differ_from_hosts_as_parts_of_one_host_do(void)
{
	/* Hosts within 1 %, their parts within 3 %: 70 - 3.5 hypot(0.52, 2.1). */
	const double hosts[] = { 69.3, 69.65, 70, 70.35, 70.7 };
	struct measure m = measure_make("gemm.rate", 65, false);
	const struct center alone = center_of(hosts, 5, 0), both = center_of(hosts, 5, 2.1);
	const struct center few = center_of(hosts, 4, 0), none = center_of(hosts, 0, 0);
	struct expectation e = { 0 };

	CHECK(expectation_from_fleet(&m, &alone, &e));
	CHECK(e.low);
	CHECK_NEAR(e.floor, 66.5, 1e-9);
	CHECK(expectation_from_fleet(&m, &both, &e));
	CHECK(!e.low);
	CHECK_NEAR(e.floor, 70 - 3.5 * hypot(1.4826 * 0.35, 2.1), 1e-9);
	CHECK_EQ(e.source, SOURCE_FLEET);
	CHECK(!expectation_from_fleet(&m, &few, &e));
	CHECK(!expectation_from_fleet(&m, &none, &e));
}

static void a_policy_moves_the_floor(void)
{
	static const double same[] = { 100, 100, 100, 100, 100, 100, 100 };
	static const double noisy[] = { 88, 92, 96, 100, 104, 108, 112 };
	struct measure m = measure_make("gemm.rate", 90, false);
	struct expectation e;

	m.slack = 0.2;
	CHECK(expectation_from_peers(&m, same, 7, &e));
	CHECK_NEAR(e.floor, 80, 1e-9);
	CHECK(!e.low);
	m.slack = 0.01;
	m.k = 1;
	CHECK(expectation_from_peers(&m, noisy, 7, &e));
	CHECK_NEAR(e.floor, 100 - 1.4826 * 8, 1e-9);
}

static void a_floor_is_never_negative(void)
{
	static const double wild[] = { 1, 1, 50, 100, 200, 900, 1000 };
	struct measure m = measure_make("gemm.rate", 0, false);
	struct expectation e;

	CHECK(expectation_from_peers(&m, wild, 7, &e));
	CHECK_NEAR(e.floor, 0, 0);
	CHECK(!e.low && !e.far && e.margin >= 1);
}

static void few_peers_give_15_percent_of_the_best_and_never_far(void)
{
	static const double few[] = { 60, 80, 90, 100, 0 };
	struct measure m = measure_make("gemm.rate", 84, false);
	struct expectation e;
	size_t n;

	for (n = 1; n < REFERENCE_N_MIN; n++) {
		CHECK(expectation_from_peers(&m, few + 4 - n, n, &e));
		CHECK_NEAR(e.expected, 100, 0);
		CHECK_NEAR(e.floor, 85, 1e-9);
		CHECK_EQ(e.n, n);
		CHECK(e.low && !e.far);
	}
	m.value = 1;
	CHECK(expectation_from_peers(&m, few, 4, &e) && e.low && !e.far);
	m.value = 85.1;
	CHECK(expectation_from_peers(&m, few, 4, &e) && !e.low);
	m = measure_make("rnic_pair.write_lat", 68.9, true);
	CHECK(expectation_from_peers(&m, few, 4, &e) && !e.low);
	CHECK_NEAR(e.expected, 60, 0);
	m.value = 69.1;
	CHECK(expectation_from_peers(&m, few, 4, &e) && e.low && !e.far);
	CHECK_NEAR(e.floor, 69, 1e-9);
}

static void without_anything_positive_there_is_no_reference(void)
{
	static const double zeros[7] = { 0 };
	struct measure m = measure_make("gemm.rate", 5, false);
	struct expectation e = { .expected = 77 };

	CHECK(!expectation_from_peers(&m, zeros, 0, &e));
	CHECK(!expectation_from_peers(&m, zeros, 3, &e));
	CHECK(!expectation_from_peers(&m, zeros, 7, &e));
	CHECK(!expectation_from_history(&m, zeros, 7, &e));
	CHECK_NEAR(e.expected, 77, 0);
}

static void states_and_counters_have_no_peers(void)
{
	static const double counts[] = { 1, 1, 1, 1, 1, 1, 1 };
	struct measure m = measure_make("host.edac_corrected", 9, true);
	struct expectation e;

	CHECK(!expectation_from_peers(&m, counts, 7, &e));
	CHECK(!expectation_from_history(&m, counts, 7, &e));
	CHECK(expectation_from_sku(&m, 0, 4, &e) && e.low);
}

static void history_needs_five_runs_and_takes_their_median(void)
{
	static const double runs[] = { 101, 99, 100, 100, 90, 100 };
	double many[REFERENCE_HISTORY_MAX + 1];
	struct measure m = measure_make("gemm.rate", 94, false);
	struct expectation e;
	size_t i;

	CHECK(!expectation_from_history(&m, runs, 4, &e));
	CHECK(expectation_from_history(&m, runs, 5, &e));
	CHECK_NEAR(e.expected, 100, 0);
	CHECK_EQ(e.source, SOURCE_HISTORY);
	CHECK_EQ(e.n, 5);
	CHECK(e.low && !e.far);
	m.value = 80;
	CHECK(expectation_from_history(&m, runs, 6, &e) && e.far);
	for (i = 0; i <= REFERENCE_HISTORY_MAX; i++)
		many[i] = 100;
	CHECK(expectation_from_history(&m, many, REFERENCE_HISTORY_MAX, &e));
	CHECK(!expectation_from_history(&m, many, REFERENCE_HISTORY_MAX + 1, &e));
}

static void a_sku_file_may_give_expected_or_floor_or_both(void)
{
	static const struct {
		const char *check;
		double value, expected, floor, want_expected, want_floor;
		bool lower, low, far;
	} cases[] = {
		{ "memory.h2d_bw", 50, 52, 48, 52, 48, false, false, false },
		{ "memory.h2d_bw", 47, 52, 48, 52, 48, false, true, false },
		{ "memory.h2d_bw", 40, 52, 48, 52, 48, false, true, true },
		{ "gemm.rate", 96, 100, NAN, 100, 95, false, false, false },
		{ "gemm.rate", 94, 100, NAN, 100, 95, false, true, false },
		{ "loopback.write_lat", 2.6, NAN, 2.5, 2.5, 2.5, true, true, false },
		{ "loopback.write_lat", 3.0, NAN, 2.5, 2.5, 2.5, true, true, true },
		{ "loopback.write_lat", 2.4, NAN, 2.5, 2.5, 2.5, true, false, false },
		{ "inventory.gpus", 8, 8, NAN, 8, 8, false, false, false },
		{ "inventory.gpus", 9, 8, NAN, 8, 8, false, false, false },
		{ "inventory.gpus", 7, 8, NAN, 8, 8, false, true, true },
		{ "inventory.dimm_bytes", 995, 1000, NAN, 1000, 990, false, false, false },
		{ "host.edac_corrected", 1, 0, 0, 0, 0, true, true, true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct measure m = measure_make(cases[i].check, cases[i].value, cases[i].lower);
		struct expectation e = { 0 };

		CHECK(expectation_from_sku(&m, cases[i].expected, cases[i].floor, &e));
		CHECK_NEAR(e.expected, cases[i].want_expected, 0);
		CHECK_NEAR(e.floor, cases[i].want_floor, 1e-9);
		CHECK_EQ(e.source, SOURCE_SKU);
		CHECK_EQ(e.n, 1);
		CHECK_EQ(e.low, cases[i].low);
		CHECK_EQ(e.far, cases[i].far);
	}
}

static void a_sku_file_with_no_number_is_no_reference(void)
{
	struct measure m = measure_make("gemm.rate", 5, false);
	struct expectation e;

	CHECK(!expectation_from_sku(&m, NAN, NAN, &e));
}

static void two_of_three_or_one_far_make_a_fail(void)
{
	static const struct {
		struct expectation e[3];
		size_t n;
		int level;
	} cases[] = {
		{ { { 0 } }, 0, VERDICT_PASS },
		{ { { .low = false } }, 1, VERDICT_PASS },
		{ { { .low = true } }, 1, VERDICT_WARN },
		{ { { .low = true, .far = true } }, 1, VERDICT_FAIL },
		{ { { .low = true }, { .low = false } }, 2, VERDICT_WARN },
		{ { { .low = true }, { .low = true } }, 2, VERDICT_FAIL },
		{ { { .low = false }, { .low = false }, { .low = false } }, 3, VERDICT_PASS },
		{ { { .low = false }, { .low = true }, { .low = false } }, 3, VERDICT_WARN },
		{ { { .low = true }, { .low = false }, { .low = true } }, 3, VERDICT_FAIL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ(expectations_level(cases[i].e, cases[i].n), cases[i].level);
}

/* Peers, the fleet and its own history of a part. */
static void peers_are_no_second_word_beside_who_knows_all_parts(void)
{
	static const struct {
		bool peers, peers_far, fleet, fleet_far, history, dropped, parts;
		int level;
	} rows[] = {
		{ .peers = true, .fleet = true, .level = VERDICT_FAIL },
		{ .peers = true, .peers_far = true, .level = VERDICT_WARN },
		{ .parts = true, .peers = true, .fleet = true, .level = VERDICT_WARN },
		{ .parts = true, .peers = true, .peers_far = true, .level = VERDICT_PASS },
		{ .parts = true,
		  .peers = true,
		  .peers_far = true,
		  .fleet = true,
		  .level = VERDICT_WARN },
		{ .parts = true, .fleet = true, .fleet_far = true, .level = VERDICT_FAIL },
		/* It has been better. */
		{ .parts = true, .peers = true, .history = true, .level = VERDICT_WARN },
		{ .parts = true,
		  .peers = true,
		  .history = true,
		  .dropped = true,
		  .level = VERDICT_FAIL },
		{ .parts = true, .fleet = true, .history = true, .level = VERDICT_FAIL },
		{ .parts = true, .history = true, .level = VERDICT_WARN },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct expectation e[] = {
			{ .source = SOURCE_PEERS, .low = rows[i].peers, .far = rows[i].peers_far },
			{ .source = SOURCE_HISTORY,
			  .low = rows[i].history,
			  .margin = rows[i].dropped ? 0.96 : 0.99 },
			{ .source = SOURCE_FLEET,
			  .low = rows[i].fleet,
			  .far = rows[i].fleet_far,
			  .parts = rows[i].parts },
		};

		CHECK_EQ(expectations_level(e, ARRAY_SIZE(e)), rows[i].level);
	}
}

static void the_worst_expectation_is_told(void)
{
	static const struct expectation e[] = { { .margin = 1.02 },
						{ .margin = 0.97 },
						{ .margin = 0.99 } };

	CHECK(expectations_worst(e, 3) == &e[1]);
	CHECK(expectations_worst(e, 1) == &e[0]);
	CHECK(expectations_worst(e, 0) == NULL);
}

static void equal_params_have_one_key_whatever_their_order(void)
{
	CLEANUP(report_release) struct report r = report_make();
	struct sample *s = report_put(&r, "gemm.rate", "cpu:0", 5);
	CLEANUP(freep) char *none = params_key(s);
	CLEANUP(freep) char *one = NULL, *other = NULL, *third = NULL;

	s->params = json_pack("{s:i, s:{s:s}}", "n", 512, "lib", "v", "0.3.21");
	one = params_key(s);
	json_decref(s->params);
	s->params = json_pack("{s:{s:s}, s:i}", "lib", "v", "0.3.21", "n", 512);
	other = params_key(s);
	json_object_set_new(s->params, "n", json_integer(513));
	third = params_key(s);
	CHECK_STR(none, "{}");
	CHECK_STR(one, "{\"lib\":{\"v\":\"0.3.21\"},\"n\":512}");
	CHECK_STR(one, other);
	CHECK(!streq(one, third));
}

/* Held to 600 W by its firmware a GPU is slow, and compared with nobody it would never be seen. */
static void a_power_limit_is_no_reason_not_to_compare(void)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{ "{\"ecc\":\"on\",\"power_limit_w\":700}",
		  "{\"ecc\":\"on\",\"power_limit_w\":600}", true },
		{ "{\"ecc\":\"on\",\"power_limit_w\":700}", "{\"ecc\":\"on\"}", true },
		{ "{\"ecc\":\"on\",\"power_limit_w\":700}",
		  "{\"ecc\":\"off\",\"power_limit_w\":700}", false },
		{ "{\"power_limit_w\":700}", "{}", true },
		{ "{\"ecc\":\"on\"}", "{}", false },
	};
	CLEANUP(report_release) struct report r = report_make();
	size_t i, how;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		/* As a probe has them, and as the controller reads them. */
		for (how = 0; how < 2; how++) {
			struct sample a = *report_put(&r, "gemm.rate", "gpu:0", 5), b = a;
			CLEANUP(json_freep) json_t *of_a = json_loads(rows[i].a, 0, NULL);
			CLEANUP(json_freep) json_t *of_b = json_loads(rows[i].b, 0, NULL);
			CLEANUP(freep) char *memory_a = NULL;
			CLEANUP(freep) char *memory_b = NULL;
			CLEANUP(freep) char *key_a = NULL;
			CLEANUP(freep) char *key_b = NULL;
			struct kind kind_a, kind_b;

			a.params = of_a;
			b.params = of_b;
			a.params_text = how ? rows[i].a : NULL;
			b.params_text = how ? rows[i].b : NULL;
			kind_a = kind_of(&a, &memory_a);
			kind_b = kind_of(&b, &memory_b);
			key_a = params_key(&a);
			key_b = params_key(&b);
			CHECK_EQ(kind_compare(&kind_a, &kind_b) == 0, rows[i].same);
			CHECK_EQ(streq(key_a, key_b), rows[i].same);
			CHECK_STR(kind_a.params, key_a);
		}
	}
}

/* A setting is left out where it is a member, and stays where it is within a text or another's value. */
static void the_text_gives_the_key_that_the_object_gives(void)
{
	static const struct {
		const char *text, *key;
	} rows[] = {
		{ "{\"a\":1,\"power_limit_w\":700,\"z\":\"b\"}", "{\"a\":1,\"z\":\"b\"}" },
		{ "{\"power_limit_w\":{\"min\":[1,{\"to\":2}]},\"z\":[]}", "{\"z\":[]}" },
		{ "{\"a\":{},\"power_limit_w\":\"1,}\\\"2\\\\\"}", "{\"a\":{}}" },
		{ "{\"a\":{\"power_limit_w\":7}}", "{\"a\":{\"power_limit_w\":7}}" },
		{ "{\"a\":\",\\\"power_limit_w\\\":1\"}", "{\"a\":\",\\\"power_limit_w\\\":1\"}" },
		{ "{\"power_limit_w\":null,\"power_limit_w_max\":7}", "{\"power_limit_w_max\":7}" },
	};
	CLEANUP(report_release) struct report r = report_make();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sample s = *report_put(&r, "gemm.rate", "gpu:0", 5);
		CLEANUP(json_freep) json_t *params = json_loads(rows[i].text, 0, NULL);
		CLEANUP(freep) char *of_object = NULL;
		CLEANUP(freep) char *of_text = NULL;

		s.params = params;
		of_object = params_key(&s);
		s.params_text = rows[i].text;
		of_text = params_key(&s);
		CHECK_STR(of_object, rows[i].key);
		CHECK_STR(of_text, rows[i].key);
	}
}

static const struct test tests[] = {
	TEST(every_check_has_the_slack_of_its_family),
	TEST(a_power_limit_is_no_reason_not_to_compare),
	TEST(the_text_gives_the_key_that_the_object_gives),
	TEST(only_a_measured_value_with_a_better_side_is_compared),
	TEST(peers_of_one_value_give_the_floor_of_the_family),
	TEST(noisy_peers_widen_the_floor),
	TEST(a_part_may_differ_from_hosts_as_parts_of_one_host_do),
	TEST(a_policy_moves_the_floor),
	TEST(a_floor_is_never_negative),
	TEST(few_peers_give_15_percent_of_the_best_and_never_far),
	TEST(without_anything_positive_there_is_no_reference),
	TEST(states_and_counters_have_no_peers),
	TEST(history_needs_five_runs_and_takes_their_median),
	TEST(a_sku_file_may_give_expected_or_floor_or_both),
	TEST(a_sku_file_with_no_number_is_no_reference),
	TEST(two_of_three_or_one_far_make_a_fail),
	TEST(peers_are_no_second_word_beside_who_knows_all_parts),
	TEST(the_worst_expectation_is_told),
	TEST(equal_params_have_one_key_whatever_their_order),
};

TEST_SUITE(tests);
