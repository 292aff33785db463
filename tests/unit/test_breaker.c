/* SPDX-License-Identifier: Apache-2.0 */
/* When the breaker opens, what a reset means, and how it is stored. */
#include "lib/policy/breaker.h"

#include <stdio.h>

#include "lib/base/err.h"
#include "tests/unit/fleet_world.h"
#include "tests/unit/test.h"

#define RULES FATAL ", " SLOW ", " REST

static void a_storm_opens_the_breaker_and_a_trickle_does_not(void)
{
	static const struct {
		uint64_t apart_us;
		bool open;
	} rows[] = { { 0, true }, { USEC_PER_MIN, true }, { 5 * USEC_PER_MIN, false } };
	size_t i;
	unsigned j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_release) struct world w;

		world_init(&w, RULES, 100);
		w.policy.alike_nodes = 100;
		for (j = 0; j < 7; j++) {
			char check[24];

			(void)snprintf(check, sizeof(check), "gpu.lost%u", j);
			note(&w, j, check, SEVERITY_FATAL);
			later(&w, rows[i].apart_us);
			decide_and_do(&w);
		}
		CHECK_EQ(w.breaker.open, rows[i].open);
		CHECK(!rows[i].open || w.breaker.cause == BREAKER_STORM);
		CHECK_EQ(breaker_cordons(&w.breaker, w.now_us, USEC_PER_DAY), rows[i].open ? 3 : 7);
	}
}

static void what_people_gave_back_is_no_storm(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 100);
	w.policy.alike_nodes = 100;
	for (i = 0; i < 12; i++) {
		note(&w, i, "gpu.lost", SEVERITY_FATAL);
		happens(&w, i, EVENT_OVERRIDE);
	}
	decide(&w);
	CHECK(!w.breaker.open);
	CHECK_EQ(count_of(&w, DECIDE_CORDON), 12);
}

static void silent_agents_open_the_breaker(void)
{
	static const struct {
		unsigned of, silent;
		bool open;
	} rows[] = { { 100, 30, false }, { 100, 31, true }, { 4, 2, false },
		     { 4, 3, true },	 { 1, 1, false },   { 1000, 300, false } };
	size_t i;
	unsigned j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_release) struct world w;

		world_init(&w, RULES, rows[i].of);
		later(&w, USEC_PER_HOUR);
		for (j = 0; j < rows[i].silent; j++)
			world_node(&w, j)->reported_us -= 16 * USEC_PER_MIN;
		decide(&w);
		CHECK_EQ(w.breaker.open, rows[i].open);
		CHECK(!rows[i].open || w.breaker.cause == BREAKER_SILENT);
	}
}

static void who_is_known_to_be_away_is_not_silent(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 10);
	for (i = 0; i < 4; i++)
		world_node(&w, i)->reported_us = w.now_us - USEC_PER_HOUR;
	world_node(&w, 0)->out = OUT_NOT_READY;
	world_node(&w, 1)->out = OUT_OTHERS;
	world_node(&w, 2)->managed = false;
	happens(&w, 3, EVENT_SILENCE);
	decide(&w);
	CHECK(!w.breaker.open);
}

static void after_a_reset_older_evidence_counts_for_nothing(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 100);
	for (i = 0; i < 10; i++)
		note(&w, i * 10, "gpu.lost", SEVERITY_FATAL);
	decide_and_do(&w);
	CHECK(w.breaker.open);
	later(&w, USEC_PER_DAY);
	decide_and_do(&w);
	CHECK(w.breaker.open); /* it latches */
	CHECK(breaker_reset(&w.breaker, "operator ann", "fixed", w.now_us));
	CHECK_STR(w.breaker.reset_by, "operator ann: fixed");
	later(&w, USEC_PER_MIN);
	decide(&w);
	CHECK(!w.breaker.open);
	CHECK_EQ(count_of(&w, DECIDE_CORDON), 0);
	note(&w, 30, "gpu.lost", SEVERITY_FATAL);
	decide(&w);
	CHECK_EQ(count_of(&w, DECIDE_CORDON), 1);
	CHECK(find(&w, 30, DECIDE_CORDON)->effect);
}

static void silent_agents_have_their_time_after_a_reset(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 10);
	w.now_us += USEC_PER_HOUR;
	decide(&w);
	CHECK(w.breaker.open);
	(void)breaker_reset(&w.breaker, "operator ann", "a switch was down", w.now_us);
	w.now_us += w.policy.silent_after_us - 1;
	decide(&w);
	CHECK(!w.breaker.open);
	w.now_us += 1;
	decide(&w);
	CHECK(w.breaker.open);
}

static void what_was_wanted_before_a_reset_is_no_storm_after_it(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 100);
	w.policy.alike_nodes = 100;
	for (i = 0; i < 6; i++)
		note(&w, i, "gpu.lost", SEVERITY_FATAL);
	decide(&w);
	CHECK_EQ(w.out.wanted, 6);
	CHECK(!w.breaker.open); /* twice the rate is no storm yet */
	note(&w, 6, "gpu.lost", SEVERITY_FATAL);
	decide(&w);
	CHECK(w.breaker.open);
	later(&w, USEC_PER_MIN);
	(void)breaker_reset(&w.breaker, "operator ann", "it is real", w.now_us);
	later(&w, USEC_PER_MIN);
	for (i = 0; i < 7; i++)
		note(&w, i, "gpu.lost", SEVERITY_FATAL);
	decide(&w);
	CHECK(!w.breaker.open);
	CHECK_EQ(w.out.wanted, 0);
	CHECK_EQ(count_of(&w, DECIDE_CORDON), 7);
}

static void a_breaker_survives_the_store(void)
{
	struct breaker b = { 0 }, back;
	CLEANUP(json_freep) json_t *json = NULL;
	struct err err = ERR_INIT;
	struct jval root;
	unsigned i;

	for (i = 1; i <= BREAKER_STAMPS_MAX + 44; i++)
		breaker_count(&b, i * USEC_PER_SEC);
	CHECK(breaker_open(&b, BREAKER_SILENT, 7 * USEC_PER_HOUR, "31 of 100 agents are silent"));
	CHECK(!breaker_open(&b, BREAKER_STORM, 8 * USEC_PER_HOUR, "another"));
	json = breaker_encode(&b);
	root = jval_root(json, "breaker");
	CHECK_EQ(breaker_decode(&root, &back, &err), 0);
	CHECK_STR(err.msg, "");
	CHECK(back.open);
	CHECK_EQ(back.cause, BREAKER_SILENT);
	CHECK_STR(back.sentence, "31 of 100 agents are silent");
	CHECK_EQ(back.opened_us, 7 * USEC_PER_HOUR);
	CHECK_EQ(breaker_cordons(&back, 301 * USEC_PER_SEC, 11 * USEC_PER_SEC), 10);
	CHECK_EQ(breaker_free_at(&back, 5, 301 * USEC_PER_SEC, 60 * USEC_PER_SEC),
		 (296 + 60) * USEC_PER_SEC);
	CHECK_EQ(breaker_cordons(&back, 301 * USEC_PER_SEC, USEC_PER_DAY), BREAKER_STAMPS_MAX);
}

static void a_cordon_that_was_not_set_is_not_counted(void)
{
	const unsigned counts[] = { 5, BREAKER_STAMPS_MAX, BREAKER_STAMPS_MAX + 44 };
	size_t k;

	for (k = 0; k < ARRAY_SIZE(counts); k++) {
		const uint64_t now_us = USEC_PER_DAY + counts[k] * USEC_PER_SEC;
		const unsigned kept = MIN(counts[k], (unsigned)BREAKER_STAMPS_MAX);
		struct breaker b = { 0 };
		unsigned i;

		for (i = 1; i <= counts[k]; i++)
			breaker_count(&b, USEC_PER_DAY + i * USEC_PER_SEC);
		breaker_uncount(&b, USEC_PER_DAY + (counts[k] - 2) * USEC_PER_SEC);
		CHECK_EQ(breaker_cordons(&b, now_us, USEC_PER_HOUR), kept - 1);
		CHECK_EQ(breaker_cordons(&b, now_us, 3 * USEC_PER_SEC), 2); /* the two newest */
		breaker_uncount(&b, 12345);
		CHECK_EQ(breaker_cordons(&b, now_us, USEC_PER_HOUR), kept - 1);
		breaker_count(&b, now_us);
		CHECK_EQ(breaker_cordons(&b, now_us, USEC_PER_HOUR), kept);
	}
}

static void a_stored_breaker_that_is_broken_is_refused(void)
{
	static const char *const broken[] = { "{}", "{\"open\": 3}",
					      "{\"open\": true, \"cause\": \"x\"}",
					      "{\"open\": true, \"cordons_us\": [-1]}",
					      "{\"open\": true, \"cordons_us\": 5}" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(broken); i++) {
		CLEANUP(json_freep) json_t *json = json_loads(broken[i], 0, NULL);
		struct jval root = jval_root(json, "breaker");
		struct breaker b = { .reset_us = 5 };
		struct err err = ERR_INIT;

		CHECK(breaker_decode(&root, &b, &err) < 0);
		CHECK_EQ(b.reset_us, 5);
		CHECK(err.msg[0] != '\0');
	}
}

static const struct test tests[] = {
	TEST(a_storm_opens_the_breaker_and_a_trickle_does_not),
	TEST(what_people_gave_back_is_no_storm),
	TEST(silent_agents_open_the_breaker),
	TEST(who_is_known_to_be_away_is_not_silent),
	TEST(after_a_reset_older_evidence_counts_for_nothing),
	TEST(silent_agents_have_their_time_after_a_reset),
	TEST(what_was_wanted_before_a_reset_is_no_storm_after_it),
	TEST(a_breaker_survives_the_store),
	TEST(a_cordon_that_was_not_set_is_not_counted),
	TEST(a_stored_breaker_that_is_broken_is_refused),
};

TEST_SUITE(tests);
