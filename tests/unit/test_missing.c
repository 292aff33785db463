/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/missing.h"

#include "tests/unit/reports.h"
#include "tests/unit/test.h"

/* A SKU file that expects GPUs, ports and NVLinks, and no NIC at all. */
static bool expectation(void *context UNUSED, const struct sample *s, double *ret_expected,
			double *ret_floor)
{
	const char *check = s->check;
	bool none = streq(check, "inventory.nics");

	*ret_expected = *ret_floor = none ? 0 : 8;
	return none || streq(check, "inventory.gpus") || streq(check, "inventory.ports_active") ||
	       streq(check, "inventory.nvlinks");
}

static const struct judge_inputs with_sku = { .sku = expectation };

static void a_count_that_the_sku_file_expects_and_nobody_made_is_told(void)
{
	CLEANUP(report_release) struct report r = report_make();
	const struct verdict *v;

	report_put(&r, "inventory.cpus", "host", 128);
	report_put(&r, "inventory.gpus", "host", 8);
	v = judged(&r, &with_sku);
	CHECK_EQ(v->n_items, 3);
	CHECK_EQ(v->level, VERDICT_INCONCLUSIVE);
	CHECK_EQ(item_level(v, "inventory.ports_active", "host"), VERDICT_INCONCLUSIVE);
	CHECK_HAS(item_find(v, "inventory.ports_active", "host")->sentence,
		  "inventory.ports_active: the SKU file expects a count");
	/* Without a SKU file nobody expects it. */
	CHECK_EQ(judged(&r, NULL)->n_items, 2);
	report_put(&r, "inventory.ports_active", "host", 8);
	CHECK_EQ(judged(&r, &with_sku)->level, VERDICT_PASS);
}

static void who_did_not_count_misses_nothing(void)
{
	CLEANUP(report_release) struct report r = report_make();

	report_put(&r, "gemm.rate", "cpu:0", 70);
	report_put(&r, "host.kernel_log", "host", 0);
	CHECK_EQ(judged(&r, &with_sku)->n_items, 2);
}

/* What the probe of GPUs counts is missed once it runs. */
static void each_probe_answers_for_its_own_counts(void)
{
	CLEANUP(report_release) struct report r = report_make();

	report_put(&r, "inventory.gpus", "host", 8);
	report_put(&r, "inventory.ports_active", "host", 8);
	CHECK_EQ(item_level(judged(&r, &with_sku), "inventory.nvlinks", "host"), -1);
	report_put(&r, "gpu.clocks", "gpu:GPU-1", 1);
	CHECK_EQ(item_level(judged(&r, &with_sku), "inventory.nvlinks", "host"),
		 VERDICT_INCONCLUSIVE);
}

static void a_problem_of_the_probe_says_it_already(void)
{
	CLEANUP(report_release) struct report r = report_make();

	report_put(&r, "inventory.gpus", "host", 8);
	report_put_problem(&r, "host-state", PROBLEM_TIMEOUT, "killed");
	CHECK_EQ(item_level(judged(&r, &with_sku), "inventory.ports_active", "host"), -1);
	CHECK_EQ(judged(&r, &with_sku)->level, VERDICT_INCONCLUSIVE);
}

/* The run before had it: one item, in the words of what is gone. */
static void it_is_told_once(void)
{
	CLEANUP(report_release) struct report first = report_make(), now = report_make();
	CLEANUP(verdict_release) struct verdict before = { 0 };
	struct judge_inputs in = { .sku = expectation, .before = &before };

	report_put(&first, "inventory.gpus", "host", 8);
	report_put(&first, "inventory.ports_active", "host", 8);
	verdict_judge(&first, NULL, &before);
	report_put(&now, "inventory.gpus", "host", 8);
	CHECK_EQ(judged(&now, &in)->n_items, 2);
	CHECK_HAS(judged(&now, &in)->items[0].sentence, "is missing from inventory.ports_active");
}

static const struct test tests[] = {
	TEST(a_count_that_the_sku_file_expects_and_nobody_made_is_told),
	TEST(who_did_not_count_misses_nothing),
	TEST(each_probe_answers_for_its_own_counts),
	TEST(a_problem_of_the_probe_says_it_already),
	TEST(it_is_told_once),
};

TEST_SUITE(tests, .end = judged_done);
