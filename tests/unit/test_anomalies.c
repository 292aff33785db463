/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/anomalies.h"

#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"
#include "tests/unit/test.h"

static void enter(struct anomalies *s, int set, const char *check, unsigned first, unsigned n)
{
	unsigned i;

	for (i = first; i < first + n; i++) {
		CLEANUP(freep) char *node = xasprintf("host%u", i);

		anomalies_set(s, set, "sku-a", check, node, true);
	}
}

static void half_of_enough_hosts_is_wide(void)
{
	static const struct {
		unsigned hosts, bad;
		bool wide;
	} rows[] = {
		{ 0, 0, false },  { 4, 4, false }, { 5, 2, false },  { 5, 3, true },
		{ 16, 7, false }, { 16, 8, true }, { 16, 16, true }, { 17, 8, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(anomalies_release) struct anomalies s = { 0 };

		enter(&s, ANOMALY_HOSTS, "", 0, rows[i].hosts);
		enter(&s, ANOMALY_LOW, "gemm.rate", 0, rows[i].bad);
		CHECK_EQ(anomalies_wide(&s, ANOMALY_LOW, "sku-a", "gemm.rate"), rows[i].wide);
		CHECK(!anomalies_wide(&s, ANOMALY_SUSPECT, "sku-a", "gemm.rate"));
		CHECK(!anomalies_wide(&s, ANOMALY_LOW, "sku-b", "gemm.rate"));
		CHECK(!anomalies_wide(&s, ANOMALY_LOW, "sku-a", "memory.copy_bw"));
	}
}

static void what_was_wide_is_over_below_a_quarter(void)
{
	CLEANUP(anomalies_release) struct anomalies s = { 0 };

	enter(&s, ANOMALY_HOSTS, "", 0, 16);
	enter(&s, ANOMALY_LOW, "gemm.rate", 0, 4);
	CHECK(!anomalies_over(&s, ANOMALY_LOW, "sku-a", "gemm.rate"));
	anomalies_set(&s, ANOMALY_LOW, "sku-a", "gemm.rate", "host0", false);
	CHECK(anomalies_over(&s, ANOMALY_LOW, "sku-a", "gemm.rate"));
}

/* Hosts first to first + n - 1 are measured, the first `far` of them far below the file. */
static void measure(struct anomalies *s, unsigned first, unsigned n, unsigned far)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		CLEANUP(freep) char *node = xasprintf("host%u", first + i);

		anomalies_measured(s, "sku-a", "gemm.rate", node, i < far);
	}
}

/* Of 100 hosts 25 have run since it was made wrong: nobody waits for the other 75. */
static void a_file_is_wrong_for_half_of_the_hosts_that_ran_last(void)
{
	static const struct {
		unsigned ran, far;
		bool wrong;
	} rows[] = { { 24, 24, false }, { 25, 12, false }, { 25, 13, true }, { 100, 49, false } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(anomalies_release) struct anomalies s = { 0 };

		enter(&s, ANOMALY_HOSTS, "", 0, 100);
		/* The good ones run last. */
		measure(&s, 0, rows[i].ran, rows[i].far);
		CHECK_EQ(anomalies_file(&s) != NULL, rows[i].wrong);
	}
}

/* Five of 100 are far below the file for good, and the others run again and again. */
static void a_few_hosts_far_below_the_file_for_good_do_not_make_it_wrong(void)
{
	CLEANUP(anomalies_release) struct anomalies s = { 0 };
	unsigned day;

	enter(&s, ANOMALY_HOSTS, "", 0, 100);
	for (day = 0; day < 10; day++) {
		measure(&s, 0, 100, 5);
		CHECK(anomalies_file(&s) == NULL);
	}
	/* From now on it asks too much of all. */
	measure(&s, 40, 12, 12);
	CHECK(anomalies_file(&s) == NULL);
	measure(&s, 52, 1, 1);
	CHECK_STR(anomalies_file(&s), "sku-a");
	anomalies_forgive_file(&s);
	CHECK(anomalies_file(&s) == NULL);
}

/* A few runs of a small SKU are no half of it. */
static void a_small_sku_waits_for_half_of_its_hosts(void)
{
	CLEANUP(anomalies_release) struct anomalies s = { 0 };

	enter(&s, ANOMALY_HOSTS, "", 0, 16);
	measure(&s, 0, 7, 7);
	CHECK(anomalies_file(&s) == NULL);
	measure(&s, 7, 1, 1);
	CHECK_STR(anomalies_file(&s), "sku-a");
}

/* A host that is gone speaks for nothing. */
static void a_host_that_is_gone_did_not_run_last(void)
{
	CLEANUP(anomalies_release) struct anomalies s = { 0 };

	enter(&s, ANOMALY_HOSTS, "", 0, 80);
	measure(&s, 0, 20, 10);
	CHECK_STR(anomalies_file(&s), "sku-a");
	anomalies_forget(&s, "host15");
	CHECK(anomalies_file(&s) == NULL);
}

static void a_file_that_half_of_the_hosts_contradict_is_named(void)
{
	CLEANUP(anomalies_release) struct anomalies s = { 0 };

	enter(&s, ANOMALY_HOSTS, "", 0, 16);
	enter(&s, ANOMALY_LOW, "gemm.rate", 0, 16);
	enter(&s, ANOMALY_FILE, "gemm.rate", 0, 7);
	CHECK(anomalies_file(&s) == NULL);
	enter(&s, ANOMALY_FILE, "gemm.rate", 7, 1);
	CHECK_STR(anomalies_file(&s), "sku-a");
	anomalies_forgive_file(&s);
	CHECK(anomalies_file(&s) == NULL);
	CHECK_EQ(anomalies_count(&s, ANOMALY_LOW, "sku-a", "gemm.rate"), 16);
	enter(&s, ANOMALY_FILE, "gemm.rate", 0, 8);
	CHECK_STR(anomalies_file(&s), "sku-a");
}

static void a_host_counts_once_and_can_leave(void)
{
	CLEANUP(anomalies_release) struct anomalies s = { 0 };

	enter(&s, ANOMALY_LOW, "gemm.rate", 0, 6);
	enter(&s, ANOMALY_LOW, "gemm.rate", 2, 2);
	CHECK_EQ(anomalies_count(&s, ANOMALY_LOW, "sku-a", "gemm.rate"), 6);
	anomalies_set(&s, ANOMALY_LOW, "sku-a", "gemm.rate", "host3", false);
	anomalies_set(&s, ANOMALY_LOW, "sku-a", "gemm.rate", "host3", false);
	anomalies_set(&s, ANOMALY_LOW, "sku-a", "other", "host3", false);
	CHECK_EQ(anomalies_count(&s, ANOMALY_LOW, "sku-a", "gemm.rate"), 5);
	CHECK(!anomalies_has(&s, ANOMALY_LOW, "sku-a", "gemm.rate", "host3"));
	CHECK(anomalies_has(&s, ANOMALY_LOW, "sku-a", "gemm.rate", "host4"));
	CHECK_EQ(s.n, 1);
}

struct visited {
	struct anomalies *anomalies;
	unsigned n;
	bool other;
};

static void visit(void *context, const char *check)
{
	struct visited *v = context;

	v->n++;
	v->other |= !streq(check, "gemm.rate") && !streq(check, "memory.copy_bw");
	anomalies_set(v->anomalies, ANOMALY_LOW, "sku-a", check, "host1", false);
	anomalies_set(v->anomalies, ANOMALY_SUSPECT, "sku-a", check, "host1", true);
}

static void each_check_of_a_host_is_visited_and_may_change(void)
{
	CLEANUP(anomalies_release) struct anomalies s = { 0 };
	struct visited v = { .anomalies = &s };

	enter(&s, ANOMALY_HOSTS, "", 0, 9);
	enter(&s, ANOMALY_LOW, "gemm.rate", 0, 3);
	enter(&s, ANOMALY_LOW, "memory.copy_bw", 1, 1);
	enter(&s, ANOMALY_LOW, "loopback.read_bw", 5, 2);
	enter(&s, ANOMALY_SUSPECT, "memory.read_bw", 1, 1);
	anomalies_set(&s, ANOMALY_LOW, "sku-b", "inventory.gpus", "host1", true);
	anomalies_each(&s, "sku-a", "host1", visit, &v);
	CHECK_EQ(v.n, 2);
	CHECK(!v.other);
	anomalies_each(&s, "sku-a", "host1", visit, &v);
	CHECK_EQ(v.n, 2);
	CHECK(anomalies_has(&s, ANOMALY_SUSPECT, "sku-a", "gemm.rate", "host1"));
	/* What is told is visited for every host. */
	anomalies_tell(&s, "sku-a", "gemm.rate", true);
	CHECK(anomalies_told(&s, "sku-a", "gemm.rate"));
	CHECK(!anomalies_told(&s, "sku-b", "gemm.rate"));
	anomalies_each(&s, "sku-a", "host8", visit, &v);
	CHECK_EQ(v.n, 3);
	anomalies_tell(&s, "sku-a", "gemm.rate", false);
	anomalies_each(&s, "sku-a", "host8", visit, &v);
	CHECK_EQ(v.n, 3);
}

static void a_host_that_is_gone_is_in_no_set(void)
{
	CLEANUP(anomalies_release) struct anomalies s = { 0 };

	enter(&s, ANOMALY_HOSTS, "", 0, 9);
	enter(&s, ANOMALY_LOW, "gemm.rate", 0, 3);
	enter(&s, ANOMALY_SUSPECT, "gemm.rate", 0, 3);
	anomalies_set(&s, ANOMALY_LOW, "sku-b", "inventory.gpus", "host1", true);
	anomalies_tell(&s, "sku-a", "gemm.rate", true);
	anomalies_forget(&s, "host1");
	CHECK_EQ(anomalies_count(&s, ANOMALY_HOSTS, "sku-a", ""), 8);
	CHECK_EQ(anomalies_count(&s, ANOMALY_LOW, "sku-a", "gemm.rate"), 2);
	CHECK_EQ(anomalies_count(&s, ANOMALY_SUSPECT, "sku-a", "gemm.rate"), 2);
	CHECK_EQ(anomalies_count(&s, ANOMALY_LOW, "sku-b", "inventory.gpus"), 0);
	CHECK(anomalies_has(&s, ANOMALY_LOW, "sku-a", "gemm.rate", "host2"));
	CHECK(anomalies_told(&s, "sku-a", "gemm.rate"));
	anomalies_forget(&s, "nobody");
	CHECK_EQ(anomalies_count(&s, ANOMALY_HOSTS, "sku-a", ""), 8);
}

/* Sets of one host make room, those that are told and those of many do not. */
static void who_fails_in_thousands_of_checks_takes_room_from_itself(void)
{
	CLEANUP(anomalies_release) struct anomalies s = { 0 };
	unsigned host, i;

	enter(&s, ANOMALY_HOSTS, "", 0, 10);
	enter(&s, ANOMALY_LOW, "gemm.rate", 0, 4);
	anomalies_tell(&s, "sku-a", "memory.copy_bw", true);
	for (host = 0; host < 50; host++) {
		CLEANUP(freep) char *node = xasprintf("liar%u", host);

		for (i = 0; i < 2 * ANOMALIES_OWN_MAX; i++) {
			CLEANUP(freep) char *check = xasprintf("lie%u.c%u", host, i);

			anomalies_set(&s, ANOMALY_LOW, "sku-a", check, node, true);
		}
		CHECK(s.n <= MIN(3 + (host + 1) * ANOMALIES_OWN_MAX, (size_t)ANOMALIES_MAX));
	}
	CHECK(s.shares.filled > 0);
	CHECK_EQ(anomalies_count(&s, ANOMALY_LOW, "sku-a", "gemm.rate"), 4);
	CHECK_EQ(anomalies_count(&s, ANOMALY_HOSTS, "sku-a", ""), 10);
	CHECK(anomalies_told(&s, "sku-a", "memory.copy_bw"));
	enter(&s, ANOMALY_LOW, "loopback.write_bw", 0, 7);
	CHECK(anomalies_wide(&s, ANOMALY_LOW, "sku-a", "loopback.write_bw"));
	for (host = 0; host < 50; host++) {
		CLEANUP(freep) char *node = xasprintf("liar%u", host);

		anomalies_forget(&s, node);
	}
	CHECK_EQ(s.n, 4);
}

static const struct test tests[] = {
	TEST(half_of_enough_hosts_is_wide),
	TEST(what_was_wide_is_over_below_a_quarter),
	TEST(a_file_is_wrong_for_half_of_the_hosts_that_ran_last),
	TEST(a_few_hosts_far_below_the_file_for_good_do_not_make_it_wrong),
	TEST(a_small_sku_waits_for_half_of_its_hosts),
	TEST(a_host_that_is_gone_did_not_run_last),
	TEST(a_file_that_half_of_the_hosts_contradict_is_named),
	TEST(a_host_counts_once_and_can_leave),
	TEST(each_check_of_a_host_is_visited_and_may_change),
	TEST(a_host_that_is_gone_is_in_no_set),
	TEST(who_fails_in_thousands_of_checks_takes_room_from_itself),
};

TEST_SUITE(tests);
