/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/judge/admit.h"
#include "lib/sys/clock_pair.h"
#include "tests/unit/test.h"

#define NOW UINT64_C(1800000000000000)
#define HOUR USEC_PER_HOUR

static const struct clock_pair now = { .real_us = NOW };

/* One item, and a verdict about it that is `age_us` old. */
struct made {
	struct verdict verdict;
	struct verdict_item item;
	char time[CLOCK_STAMP_SIZE];
};

static char this_node[] = "gpu-1", gemm[] = "gemm.rate", said[] = "cpu:3 is slow",
	    quick[] = "quick";

static void make(struct made *m, int level, bool fatal, int64_t age_us)
{
	*m = (struct made){
		.item = { .check = gemm, .level = level, .fatal = fatal, .sentence = said },
		.verdict = { .node = this_node, .level = level, .n_items = 1, .profile = quick },
	};
	clock_stamp((uint64_t)((int64_t)NOW - age_us), m->time);
	m->verdict.time = m->time;
	m->verdict.items = &m->item;
}

static void give_opinion(struct made *m, const char *verdict, int64_t left_us)
{
	char expires[CLOCK_STAMP_SIZE];

	clock_stamp((uint64_t)((int64_t)NOW + left_us), expires);
	m->verdict.fleet = json_pack("{s:s, s:s, s:s}", "verdict", verdict, "expires", expires,
				     "sentence", "the fleet says so");
}

static void an_opinion_counts_before_the_first_run_and_nothing_else_does(void)
{
	static const struct admit_options options = { .max_age_us = HOUR };
	static const struct {
		const char *opinion;
		int64_t left_us;
		int answer;
		const char *reason;
	} table[] = {
		{ "fail", 1000000, ADMIT_BAD, "the fleet says so" },
		{ "fail", -1000000, ADMIT_UNKNOWN, "cpu:3 is slow" },
		{ "pass", 1000000, ADMIT_UNKNOWN, "cpu:3 is slow" },
	};
	static char none[] = "";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct made m;
		struct admit a;

		make(&m, VERDICT_INCONCLUSIVE, false, 60 * 1000000);
		m.verdict.profile = none;
		m.verdict.n_items = 0;
		m.verdict.sentence = said;
		give_opinion(&m, table[i].opinion, table[i].left_us);
		admit_decide(&m.verdict, NULL, "gpu-1", &now, &options, &a);
		CHECK_EQ(a.answer, table[i].answer);
		CHECK_EQ(a.n_reasons, 1);
		CHECK_STR(a.reasons[0], table[i].reason);
		CHECK(isnan(a.age_s));
		CHECK_STR(a.profile, NULL);
		admit_release(&a);
		json_decref(m.verdict.fleet);
	}
}

/* Events are no test of the host; but what is bad is bad. */
static void what_was_only_watched_admits_nobody(void)
{
	static const struct admit_options options = { .max_age_us = HOUR };
	static char watch[] = "watch";
	struct made m;
	struct admit a;

	make(&m, VERDICT_PASS, false, 60 * 1000000);
	m.verdict.profile = watch;
	admit_decide(&m.verdict, NULL, "gpu-1", &now, &options, &a);
	CHECK_EQ(a.answer, ADMIT_UNKNOWN);
	CHECK_STR(a.reasons[0], "no test has run on this host yet; assayd has only watched it");
	CHECK_STR(a.profile, NULL);
	admit_release(&a);
	make(&m, VERDICT_FAIL, true, 60 * 1000000);
	m.verdict.profile = watch;
	admit_decide(&m.verdict, NULL, "gpu-1", &now, &options, &a);
	CHECK_EQ(a.answer, ADMIT_BAD);
	CHECK_STR(a.reasons[0], said);
	admit_release(&a);
}

static void the_answer_follows_the_table(void)
{
	static const struct {
		int level;
		bool fatal;
		int answer;
		bool plain, strict, closed;
	} table[] = {
		{ VERDICT_PASS, false, ADMIT_OK, true, true, true },
		{ VERDICT_WARN, false, ADMIT_DEGRADED, true, false, true },
		{ VERDICT_FAIL, false, ADMIT_DEGRADED, true, false, true },
		{ VERDICT_FAIL, true, ADMIT_BAD, false, false, false },
		{ VERDICT_INCONCLUSIVE, false, ADMIT_UNKNOWN, true, true, false },
	};
	static const struct admit_options plain = { .max_age_us = HOUR };
	static const struct admit_options strict = { .max_age_us = HOUR, .strict = true };
	static const struct admit_options closed = { .max_age_us = HOUR, .fail_closed = true };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct made m;
		struct admit a;

		make(&m, table[i].level, table[i].fatal, 60 * 1000000);
		admit_decide(&m.verdict, NULL, "gpu-1", &now, &plain, &a);
		CHECK_EQ(a.answer, table[i].answer);
		CHECK_EQ(a.admit, table[i].plain);
		CHECK_NEAR(a.age_s, 60, 0.01);
		CHECK_STR(a.profile, "quick");
		CHECK_EQ(a.n_reasons, table[i].level == VERDICT_PASS ? 0 : 1);
		admit_release(&a);
		admit_decide(&m.verdict, NULL, "gpu-1", &now, &strict, &a);
		CHECK_EQ(a.admit, table[i].strict);
		admit_release(&a);
		admit_decide(&m.verdict, NULL, "gpu-1", &now, &closed, &a);
		CHECK_EQ(a.admit, table[i].closed);
		admit_release(&a);
	}
}

static void what_cannot_be_used_is_unknown_with_the_reason(void)
{
	static const struct admit_options o = { .max_age_us = HOUR };
	struct made stale, future, foreign, timeless;
	struct admit a;

	make(&stale, VERDICT_PASS, false, 2 * (int64_t)HOUR);
	make(&future, VERDICT_PASS, false, -2 * (int64_t)HOUR);
	make(&foreign, VERDICT_FAIL, true, 0);
	make(&timeless, VERDICT_PASS, false, 0);
	timeless.verdict.time = NULL;
	admit_decide(&stale.verdict, NULL, "gpu-1", &now, &o, &a);
	CHECK_EQ(a.answer, ADMIT_UNKNOWN);
	CHECK_STR(a.reasons[0], "the newest verdict is 7200 s old, more than 1h");
	admit_release(&a);
	admit_decide(&future.verdict, NULL, "gpu-1", &now, &o, &a);
	CHECK_EQ(a.answer, ADMIT_UNKNOWN);
	CHECK_HAS(a.reasons[0], "from the future");
	admit_release(&a);
	admit_decide(&foreign.verdict, NULL, "gpu-2", &now, &o, &a);
	CHECK_EQ(a.answer, ADMIT_UNKNOWN);
	CHECK_HAS(a.reasons[0], "about host 'gpu-1'");
	admit_release(&a);
	admit_decide(&timeless.verdict, NULL, "gpu-1", &now, &o, &a);
	CHECK_EQ(a.answer, ADMIT_UNKNOWN);
	admit_release(&a);
	admit_decide(NULL, "verdict.json: truncated", "gpu-1", &now, &o, &a);
	CHECK_EQ(a.answer, ADMIT_UNKNOWN);
	CHECK(isnan(a.age_s));
	CHECK_STR(a.reasons[0], "verdict.json: truncated");
	admit_release(&a);
}

/* The disk came with another machine's verdict on it. */
static void what_another_machine_did_refuses_nobody_and_admits_nobody(void)
{
	static char theirs[] = "b:1111111111111111";
	const struct admit_options other = { .max_age_us = HOUR, .machine = "b:2222222222222222" };
	const struct admit_options user = { .max_age_us = HOUR, .machine = "m:2222222222222222" };
	struct made m;
	struct admit a;

	make(&m, VERDICT_FAIL, true, 0);
	m.verdict.machine = theirs;
	admit_decide(&m.verdict, NULL, "gpu-1", &now, &other, &a);
	CHECK_EQ(a.answer, ADMIT_UNKNOWN);
	CHECK_HAS(a.reasons[0], "another machine");
	admit_release(&a);
	admit_decide(&m.verdict, NULL, "gpu-1", &now, &user, &a);
	CHECK_EQ(a.answer, ADMIT_BAD);
	admit_release(&a);
}

static void a_fatal_signature_does_not_heal_by_waiting(void)
{
	static const struct admit_options o = { .max_age_us = HOUR };
	struct made m;
	struct admit a;

	make(&m, VERDICT_FAIL, true, 48 * (int64_t)HOUR);
	admit_decide(&m.verdict, NULL, "gpu-1", &now, &o, &a);
	CHECK_EQ(a.answer, ADMIT_BAD);
	CHECK_STR(a.reasons[0], "cpu:3 is slow");
	admit_release(&a);
}

static void the_fleet_is_obeyed_until_its_opinion_expires(void)
{
	static const struct admit_options o = { .max_age_us = HOUR };
	static const struct {
		int level;
		bool fatal;
		const char *opinion, *admit;
		int64_t left_us;
		int answer;
		bool fleet;
	} table[] = {
		{ VERDICT_PASS, false, "bad", NULL, 60000000, ADMIT_BAD, true },
		{ VERDICT_PASS, false, "bad", NULL, -1000000, ADMIT_OK, false }, /* expired */
		/* A good opinion does not cover what this host sees itself. */
		{ VERDICT_FAIL, true, "pass", NULL, 60000000, ADMIT_BAD, false },
		/* What only others saw, as with a good partner, makes it degraded. */
		{ VERDICT_PASS, false, "warn", NULL, 60000000, ADMIT_DEGRADED, true },
		{ VERDICT_PASS, false, "warn", NULL, -1000000, ADMIT_OK, false },
		{ VERDICT_PASS, false, "pass", NULL, 60000000, ADMIT_OK, false },
		{ VERDICT_PASS, false, "inconclusive", NULL, 60000000, ADMIT_OK, false },
		{ VERDICT_WARN, false, "warn", NULL, 60000000, ADMIT_DEGRADED,
		  false }, /* says so itself */
		{ VERDICT_INCONCLUSIVE, false, "warn", NULL, 60000000, ADMIT_UNKNOWN, false },
		{ VERDICT_FAIL, true, "warn", NULL, 60000000, ADMIT_BAD, false },
		/* What too many hosts refuse for is let in while the controller says so. */
		{ VERDICT_FAIL, true, "warn", "degraded", 1000000, ADMIT_DEGRADED, true },
		{ VERDICT_FAIL, true, "warn", "degraded", -1000000, ADMIT_BAD, false },
		/* What is not fatal never refused. */
		{ VERDICT_FAIL, false, "warn", "degraded", 1000000, ADMIT_DEGRADED, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct made m;
		struct admit a;

		make(&m, table[i].level, table[i].fatal, 0);
		give_opinion(&m, table[i].opinion, table[i].left_us);
		if (table[i].admit)
			json_object_set_new(m.verdict.fleet, "admit", json_string(table[i].admit));
		admit_decide(&m.verdict, NULL, "gpu-1", &now, &o, &a);
		CHECK_EQ(a.answer, table[i].answer);
		CHECK_EQ(a.fleet, table[i].fleet);
		CHECK_EQ(a.admit, table[i].answer != ADMIT_BAD);
		if (table[i].fleet)
			CHECK_STR(a.reasons[0], "the fleet says so");
		if (table[i].level == VERDICT_FAIL)
			CHECK_STR(a.reasons[a.fleet ? 1 : 0], "cpu:3 is slow");
		admit_release(&a);
		json_decref(m.verdict.fleet);
	}
}

/* The verdict was made an hour before by any clock that is right; now is ten hours after the boot. */
static void a_clock_that_jumped_makes_no_verdict_fresh(void)
{
	static char b1[] = "b1", b2[] = "b2";
	static const struct {
		char *boot;
		int64_t wall_age_us; /* by the wall clock, which may be wrong */
		double uptime_s;
		int answer;
		double age_s;
	} rows[] = {
		{ b2, (int64_t)HOUR, 9 * 3600, ADMIT_OK, 3600 },
		{ b2, 25 * (int64_t)HOUR, 9 * 3600, ADMIT_OK, 3600 },  /* set ahead since */
		{ b2, -23 * (int64_t)HOUR, 9 * 3600, ADMIT_OK, 3600 }, /* set back since */
		{ b2, 0, 60, ADMIT_UNKNOWN, 35940 },	   /* old, whatever the wall says */
		{ b1, 0, 9 * 3600, ADMIT_UNKNOWN, 36000 }, /* not younger than the boot */
		{ b1, -23 * (int64_t)HOUR, 9 * 3600, ADMIT_UNKNOWN, NAN },
		{ b1, -60 * 1000000, 9 * 3600, ADMIT_UNKNOWN, 36000 },
	};
	static const struct admit_options o = { .max_age_us = 2 * HOUR };
	const struct clock_pair here = { NOW, 10 * HOUR, "b2" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made m;
		struct admit a;

		make(&m, VERDICT_PASS, false, rows[i].wall_age_us);
		m.verdict.boot_id = rows[i].boot;
		m.verdict.uptime_s = rows[i].uptime_s;
		admit_decide(&m.verdict, NULL, "gpu-1", &here, &o, &a);
		CHECK_EQ(a.answer, rows[i].answer);
		CHECK_EQ(isnan(a.age_s), isnan(rows[i].age_s));
		if (!isnan(rows[i].age_s))
			CHECK_NEAR(a.age_s, rows[i].age_s, 0.01);
		admit_release(&a);
	}
}

static void an_opinion_ends_by_the_time_since_the_boot_in_which_it_came(void)
{
	static const struct {
		const char *boot;
		double until_s;
		int64_t left_us; /* by the wall clock */
		int answer;
	} rows[] = {
		{ "b2", 36001, 60 * 1000000, ADMIT_BAD }, { "b2", 36001, -86400000000, ADMIT_BAD },
		{ "b2", 35999, 86400000000, ADMIT_OK },	  { "b1", 99999, -1000000, ADMIT_OK },
		{ "b1", 35999, 60 * 1000000, ADMIT_BAD }, { "b2", 0, 60 * 1000000, ADMIT_BAD },
		{ "b2", -5, -1000000, ADMIT_OK },
	};
	static const struct admit_options o = { .max_age_us = HOUR };
	const struct clock_pair here = { NOW, 10 * HOUR, "b2" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct made m;
		struct admit a;

		make(&m, VERDICT_PASS, false, 0);
		give_opinion(&m, "fail", rows[i].left_us);
		json_object_set_new(m.verdict.fleet, "boot_id", json_string(rows[i].boot));
		json_object_set_new(m.verdict.fleet, "until_s", json_real(rows[i].until_s));
		admit_decide(&m.verdict, NULL, "gpu-1", &here, &o, &a);
		CHECK_EQ(a.answer, rows[i].answer);
		admit_release(&a);
		json_decref(m.verdict.fleet);
	}
}

static void a_wrong_sku_file_refuses_nobody(void)
{
	static const struct admit_options o = { .max_age_us = HOUR };
	int host, refused = 0;

	/* 64 hosts whose every value is below a floor that is wrong. */
	for (host = 0; host < 64; host++) {
		struct made m;
		struct admit a;

		make(&m, VERDICT_FAIL, false, host * 1000000);
		admit_decide(&m.verdict, NULL, "gpu-1", &now, &o, &a);
		refused += !a.admit;
		CHECK_EQ(a.answer, ADMIT_DEGRADED);
		admit_release(&a);
	}
	CHECK_EQ(refused, 0);
}

static void reasons_are_bounded(void)
{
	static const struct admit_options o = { .max_age_us = HOUR };
	struct verdict_item items[100];
	struct made m;
	struct admit a;
	size_t i;

	make(&m, VERDICT_FAIL, false, 0);
	for (i = 0; i < ARRAY_SIZE(items); i++)
		items[i] = m.item;
	m.verdict.items = items;
	m.verdict.n_items = ARRAY_SIZE(items);
	admit_decide(&m.verdict, NULL, "gpu-1", &now, &o, &a);
	CHECK_EQ(a.n_reasons, ADMIT_REASONS_MAX);
	admit_release(&a);
}

static void a_slow_link_speaks_for_its_cells(void)
{
	static const struct admit_options options = { .max_age_us = HOUR };
	static char check[] = "loopback.link", id[] = "switch:a^root:b", uplink[] = "its uplink",
		    bw[] = "loopback.write_bw";
	struct verdict_item items[12];
	struct made m;
	struct admit a;
	size_t i;

	make(&m, VERDICT_FAIL, false, 60 * 1000000);
	items[0] = (struct verdict_item){
		.check = check, .subject = id, .level = VERDICT_FAIL, .sentence = uplink
	};
	for (i = 1; i < ARRAY_SIZE(items); i++)
		items[i] = (struct verdict_item){ .check = bw,
						  .subject = gemm,
						  .level = VERDICT_FAIL,
						  .sentence = said,
						  .link = id };
	m.verdict.items = items;
	m.verdict.n_items = ARRAY_SIZE(items);
	admit_decide(&m.verdict, NULL, "gpu-1", &now, &options, &a);
	CHECK_EQ(a.n_reasons, 1);
	CHECK_STR(a.reasons[0], "its uplink");
	admit_release(&a);
	/* Cells of a link that nobody names speak for themselves. */
	m.verdict.items = items + 1;
	m.verdict.n_items = 2;
	admit_decide(&m.verdict, NULL, "gpu-1", &now, &options, &a);
	CHECK_EQ(a.n_reasons, 2);
	admit_release(&a);
}

static void the_answer_is_encoded_as_the_contract_says(void)
{
	static const struct admit_options o = { .max_age_us = HOUR };
	CLEANUP(json_freep) json_t *object = NULL;
	CLEANUP(freep) char *line = NULL;
	struct admit a;

	admit_decide(NULL, "none", "gpu-1", &now, &o, &a);
	object = admit_encode(&a);
	line = json_line(object);
	CHECK_STR(line,
		  "{\"v\":1,\"kind\":\"admit\",\"answer\":\"unknown\",\"admit\":true,"
		  "\"age_s\":null,\"profile\":null,\"source\":\"local\",\"reasons\":[\"none\"]}");
	admit_release(&a);
}

static const struct test tests[] = {
	TEST(an_opinion_counts_before_the_first_run_and_nothing_else_does),
	TEST(what_was_only_watched_admits_nobody),
	TEST(the_answer_follows_the_table),
	TEST(what_cannot_be_used_is_unknown_with_the_reason),
	TEST(what_another_machine_did_refuses_nobody_and_admits_nobody),
	TEST(a_fatal_signature_does_not_heal_by_waiting),
	TEST(the_fleet_is_obeyed_until_its_opinion_expires),
	TEST(a_clock_that_jumped_makes_no_verdict_fresh),
	TEST(an_opinion_ends_by_the_time_since_the_boot_in_which_it_came),
	TEST(a_wrong_sku_file_refuses_nobody),
	TEST(reasons_are_bounded),
	TEST(a_slow_link_speaks_for_its_cells),
	TEST(the_answer_is_encoded_as_the_contract_says),
};

TEST_SUITE(tests);
