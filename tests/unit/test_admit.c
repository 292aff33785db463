/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "lib/duration.h"
#include "lib/judge/admit.h"
#include "lib/xalloc.h"
#include "tests/unit/test.h"

#define NOW UINT64_C(1800000000000000)
#define HOUR USEC_PER_HOUR

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
		admit_decide(&m.verdict, NULL, "gpu-1", NOW, &plain, &a);
		CHECK_EQ(a.answer, table[i].answer);
		CHECK_EQ(a.admit, table[i].plain);
		CHECK_NEAR(a.age_s, 60, 0.01);
		CHECK_STR(a.profile, "quick");
		CHECK_EQ(a.n_reasons, table[i].level == VERDICT_PASS ? 0 : 1);
		admit_release(&a);
		admit_decide(&m.verdict, NULL, "gpu-1", NOW, &strict, &a);
		CHECK_EQ(a.admit, table[i].strict);
		admit_release(&a);
		admit_decide(&m.verdict, NULL, "gpu-1", NOW, &closed, &a);
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
	admit_decide(&stale.verdict, NULL, "gpu-1", NOW, &o, &a);
	CHECK_EQ(a.answer, ADMIT_UNKNOWN);
	CHECK_STR(a.reasons[0], "the newest verdict is 7200 s old, more than 1h");
	admit_release(&a);
	admit_decide(&future.verdict, NULL, "gpu-1", NOW, &o, &a);
	CHECK_EQ(a.answer, ADMIT_UNKNOWN);
	CHECK_HAS(a.reasons[0], "from the future");
	admit_release(&a);
	admit_decide(&foreign.verdict, NULL, "gpu-2", NOW, &o, &a);
	CHECK_EQ(a.answer, ADMIT_UNKNOWN);
	CHECK_HAS(a.reasons[0], "about host 'gpu-1'");
	admit_release(&a);
	admit_decide(&timeless.verdict, NULL, "gpu-1", NOW, &o, &a);
	CHECK_EQ(a.answer, ADMIT_UNKNOWN);
	admit_release(&a);
	admit_decide(NULL, "verdict.json: truncated", "gpu-1", NOW, &o, &a);
	CHECK_EQ(a.answer, ADMIT_UNKNOWN);
	CHECK(isnan(a.age_s));
	CHECK_STR(a.reasons[0], "verdict.json: truncated");
	admit_release(&a);
}

static void a_fatal_signature_does_not_heal_by_waiting(void)
{
	static const struct admit_options o = { .max_age_us = HOUR };
	struct made m;
	struct admit a;

	make(&m, VERDICT_FAIL, true, 48 * (int64_t)HOUR);
	admit_decide(&m.verdict, NULL, "gpu-1", NOW, &o, &a);
	CHECK_EQ(a.answer, ADMIT_BAD);
	CHECK_STR(a.reasons[0], "cpu:3 is slow");
	admit_release(&a);
}

static void the_fleet_is_obeyed_until_its_opinion_expires(void)
{
	static const struct admit_options o = { .max_age_us = HOUR };
	struct made fresh, expired, good;
	struct admit a;

	make(&fresh, VERDICT_PASS, false, 0);
	give_opinion(&fresh, "bad", 60 * 1000000);
	make(&expired, VERDICT_PASS, false, 0);
	give_opinion(&expired, "bad", -1000000);
	make(&good, VERDICT_FAIL, true, 0);
	give_opinion(&good, "pass", 60 * 1000000);
	admit_decide(&fresh.verdict, NULL, "gpu-1", NOW, &o, &a);
	CHECK_EQ(a.answer, ADMIT_BAD);
	CHECK(a.fleet && !a.admit);
	CHECK_STR(a.reasons[0], "the fleet says so");
	admit_release(&a);
	admit_decide(&expired.verdict, NULL, "gpu-1", NOW, &o, &a);
	CHECK_EQ(a.answer, ADMIT_OK);
	admit_release(&a);
	/* A good opinion does not cover what this host sees itself. */
	admit_decide(&good.verdict, NULL, "gpu-1", NOW, &o, &a);
	CHECK_EQ(a.answer, ADMIT_BAD);
	CHECK(!a.fleet);
	admit_release(&a);
	json_decref(fresh.verdict.fleet);
	json_decref(expired.verdict.fleet);
	json_decref(good.verdict.fleet);
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
		admit_decide(&m.verdict, NULL, "gpu-1", NOW, &o, &a);
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
	admit_decide(&m.verdict, NULL, "gpu-1", NOW, &o, &a);
	CHECK_EQ(a.n_reasons, ADMIT_REASONS_MAX);
	admit_release(&a);
}

static void the_answer_is_encoded_as_the_contract_says(void)
{
	static const struct admit_options o = { .max_age_us = HOUR };
	CLEANUP(json_freep) json_t *object = NULL;
	CLEANUP(freep) char *line = NULL;
	struct admit a;

	admit_decide(NULL, "none", "gpu-1", NOW, &o, &a);
	object = admit_encode(&a);
	line = json_line(object);
	CHECK_STR(line,
		  "{\"v\":1,\"kind\":\"admit\",\"answer\":\"unknown\",\"admit\":true,"
		  "\"age_s\":null,\"profile\":null,\"source\":\"local\",\"reasons\":[\"none\"]}");
	admit_release(&a);
}

static const struct test tests[] = {
	TEST(the_answer_follows_the_table),
	TEST(what_cannot_be_used_is_unknown_with_the_reason),
	TEST(a_fatal_signature_does_not_heal_by_waiting),
	TEST(the_fleet_is_obeyed_until_its_opinion_expires),
	TEST(a_wrong_sku_file_refuses_nobody),
	TEST(reasons_are_bounded),
	TEST(the_answer_is_encoded_as_the_contract_says),
};

int main(void)
{
	return TEST_MAIN("admit", tests);
}
