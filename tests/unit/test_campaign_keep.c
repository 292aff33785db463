/* SPDX-License-Identifier: Apache-2.0 */
/* Campaigns across restarts of the controller: what is stored, and how they resume from it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/campaign/campaign_keep.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/report.h"
#include "tests/unit/campaign_lab.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

static struct lab *begun(size_t n)
{
	struct lab *lab = lab_new(n, 2, n);

	CHECK_EQ(lab_begin(lab, NULL, NULL), 0);
	return lab;
}

static void pass(struct lab *lab, uint64_t us)
{
	lab->now.mono_us += us;
	lab->now.real_us += us;
}

/* Restarts the controller from the stored row, with a new monotonic clock. */
static int restart(struct lab *lab, struct err *err)
{
	CLEANUP(json_freep) json_t *kept = campaign_keep(lab->campaign, &lab->now);
	CLEANUP(freep) char *text = json_line(kept);
	CLEANUP(json_freep) json_t *read = json_loads(text, 0, NULL);
	struct campaign *c = NULL;
	int r;

	lab->now.mono_us = 3 * USEC_PER_SEC;
	r = campaign_recall(lab->campaign->id, read, &lab->now, &c, err);
	if (r < 0)
		return r;
	campaign_free(lab->campaign);
	lab->campaign = c;
	return 0;
}

static json_t *order_of(struct lab *lab, size_t host)
{
	return campaign_order(lab->campaign, lab->name[host], &lab->now);
}

static const char *id_of(const json_t *order)
{
	return json_string_value(json_object_get(order, "id"));
}

static void all_that_is_kept_comes_back_and_no_secret_is_in_it(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(9);
	CLEANUP(json_freep) json_t *before = NULL;
	CLEANUP(json_freep) json_t *after = NULL;
	CLEANUP(freep) char *text = NULL;
	CLEANUP(freep) char *written = NULL;

	lab->ways[4] = LAB_BUSY;
	lab->part[2] = 0.5;
	CHECK(lab_turn(lab));
	CHECK(lab_turn(lab));
	lab->guests[0].leaf[1] = NULL;
	before = campaign_keep(lab->campaign, &lab->now);
	text = json_line(before);
	CHECK(!strstr(text, "token"));
	CHECK_EQ(restart(lab, NULL), 0);
	CHECK_EQ(lab->campaign->resumed, 1);
	lab->campaign->resumed = 0;
	after = campaign_keep(lab->campaign, &lab->now);
	written = json_line(after);
	CHECK_STR(written, text);
}

/* An older controller would continue in host memory, so it must reject the row. */
static void a_campaign_in_gpu_memory_goes_on_there_and_not_in_an_older_controller(void)
{
	CLEANUP(lab_freep) struct lab *lab = lab_new(4, 2, 4);
	CLEANUP(lab_freep) struct lab *plain = begun(4);
	const struct campaign_ask ask = {
		.measure = { CAMPAIGN_ALLREDUCE, CAMPAIGN_GPU_MEMORY, CAMPAIGN_NCCL },
	};
	CLEANUP(json_freep) json_t *kept = NULL, *of_plain = NULL;

	CHECK_EQ(lab_begin(lab, &ask, NULL), 0);
	kept = campaign_keep(lab->campaign, &lab->now);
	of_plain = campaign_keep(plain->campaign, &plain->now);
	CHECK_EQ(json_integer_value(json_object_get(kept, "v")), 2);
	CHECK_EQ(json_integer_value(json_object_get(of_plain, "v")), 1);
	CHECK(lab_turn(lab));
	CHECK_EQ(restart(lab, NULL), 0);
	CHECK_STR(campaign_check(lab->campaign), "all_reduce.nccl_busbw");
	lab_play(lab);
	CHECK_EQ(lab->campaign->n_blames, 0);
}

static void a_restart_after_each_turn_changes_no_verdict(void)
{
	size_t bad, i, turns;

	for (bad = 0; bad < 8; bad++) {
		CLEANUP(lab_freep) struct lab *lab = begun(8);

		lab->part[bad] = 0.5;
		for (turns = 0; lab_turn(lab) && turns < 1000; turns++) {
			CHECK_EQ(restart(lab, NULL), 0);
			lab->campaign->resumed = 0; /* more often than it can be restarted */
		}
		CHECK_EQ(lab->campaign->state, CAMPAIGN_DONE);
		for (i = 0; i < 8; i++)
			CHECK(lab_says(lab, i) == (i == bad ? 1 : -1));
	}
}

static void an_answer_from_before_a_restart_and_one_from_after_it_make_a_group(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(2);
	CLEANUP(json_freep) json_t *first = NULL;
	CLEANUP(json_freep) json_t *second = NULL;
	struct report report = report_make();

	(void)campaign_advance(lab->campaign, &lab->now, &lab->around);
	first = order_of(lab, 0);
	second = order_of(lab, 1);
	lab_answer(lab, 0, first);
	CHECK_EQ(restart(lab, NULL), 0);
	/* Its secret was lost with the controller that created it. */
	CHECK(!campaign_has_order(lab->campaign, "gpu-0", lab->now.mono_us));
	CHECK(!campaign_has_order(lab->campaign, "gpu-1", lab->now.mono_us));
	free(report.node);
	report.node = xstrdup("gpu-0");
	CHECK(!campaign_report(lab->campaign, id_of(first), &report));
	lab_answer(lab, 1, second);
	CHECK(campaign_advance(lab->campaign, &lab->now, &lab->around));
	CHECK_EQ(lab->campaign->groups[0].outcome, PAIRING_MEASURED);
	CHECK_EQ(lab->campaign->groups[0].attempt, 0);
	CHECK(lab->campaign->groups[0].rails[1] > 0);
	report_release(&report);
}

static void a_group_without_all_answers_runs_anew_when_the_old_order_is_over(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(2);
	CLEANUP(json_freep) json_t *first = NULL;
	CLEANUP(json_freep) json_t *again = NULL;
	struct report report = report_make();
	char token[CAMPAIGN_TOKEN_SIZE];

	(void)campaign_advance(lab->campaign, &lab->now, &lab->around);
	first = order_of(lab, 0);
	memcpy(token, lab->campaign->groups[0].token, sizeof(token));
	pass(lab, 50 * USEC_PER_SEC);
	CHECK_EQ(restart(lab, NULL), 0);
	/* 60 s to its deadline, and 30 for late answers: 40 are left. */
	pass(lab, 39 * USEC_PER_SEC);
	CHECK(!campaign_advance(lab->campaign, &lab->now, &lab->around));
	CHECK(!order_of(lab, 0));
	pass(lab, USEC_PER_SEC);
	CHECK(campaign_advance(lab->campaign, &lab->now, &lab->around));
	again = order_of(lab, 0);
	CHECK(again && !streq(id_of(again), id_of(first)));
	CHECK(!streq(lab->campaign->groups[0].token, token));
	CHECK(lab->campaign->hosts[0].state != PAIRING_GONE);
	/* The answer of a host that continued meanwhile is too late. */
	free(report.node);
	report.node = xstrdup("gpu-0");
	CHECK(!campaign_report(lab->campaign, id_of(first), &report));
	lab_play(lab);
	CHECK_EQ(lab->campaign->groups[0].outcome, PAIRING_MEASURED);
	report_release(&report);
}

static void a_clock_that_was_set_in_between_makes_no_wait_longer(void)
{
	static const int64_t steps_us[] = { -86400000000, 3500000000 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(steps_us); i++) {
		CLEANUP(lab_freep) struct lab *lab = begun(2);

		(void)campaign_advance(lab->campaign, &lab->now, &lab->around);
		lab->now.real_us += (uint64_t)steps_us[i];
		CHECK_EQ(restart(lab, NULL), 0);
		pass(lab, 90 * USEC_PER_SEC);
		CHECK(campaign_advance(lab->campaign, &lab->now, &lab->around));
		CHECK_EQ(lab->campaign->groups[0].attempt, 1);
	}
}

static void hosts_have_time_to_come_back_after_a_restart(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(4);
	size_t i;

	CHECK_EQ(restart(lab, NULL), 0);
	for (i = 0; i < 4; i++)
		lab->ways[i] = LAB_AWAY;
	for (i = 0; i < 119; i++)
		CHECK(lab_turn(lab));
	for (i = 0; i < 3; i++)
		lab->ways[i] = LAB_MEASURES;
	lab_play(lab);
	for (i = 0; i < 4; i++)
		CHECK_EQ(lab->campaign->hosts[i].state == PAIRING_GONE, i == 3);
	CHECK_HAS(lab->campaign->hosts[3].why, "not connected");
}

static void who_cannot_ask_yet_gives_nobody_up(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(2);

	lab->ways[1] = LAB_AWAY;
	CHECK(lab_turn(lab));
	pass(lab, USEC_PER_HOUR);
	campaign_hold_back(lab->campaign, lab->now.mono_us);
	CHECK(lab_turn(lab));
	lab->ways[1] = LAB_MEASURES;
	lab_play(lab);
	CHECK(lab->campaign->hosts[1].state != PAIRING_GONE);
}

static void one_that_ends_the_controller_or_is_old_does_not_go_on(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(4);
	CLEANUP(json_freep) json_t *kept = NULL;
	struct campaign *c = NULL;
	struct err err = ERR_INIT;
	int i;

	(void)campaign_advance(lab->campaign, &lab->now, &lab->around);
	kept = campaign_keep(lab->campaign, &lab->now);
	pass(lab, CAMPAIGN_RESUME_WITHIN_US + USEC_PER_SEC);
	CHECK_EQ(campaign_recall(7, kept, &lab->now, &c, &err), -ECANCELED);
	CHECK_HAS(err.msg, "the controller was down for 60 minutes");
	for (i = 0; i < CAMPAIGN_RESUMES_MAX; i++)
		CHECK_EQ(restart(lab, &err), 0);
	CHECK_EQ(restart(lab, &err), -ECANCELED);
	CHECK_HAS(err.msg, "restarted 4 times");
}

/* --- incomplete rows --- */

static void try_without_each_key(const struct lab *lab, json_t *whole, json_t *part)
{
	CLEANUP(json_freep) json_t *copy = json_copy(part);
	const char *key;
	json_t *value;

	json_object_foreach(copy, key, value)
	{
		static const char *const values[] = { "null",  "[]",	"{}",	  "-7",
						      "1e300", "\"x\"", "999999", "[[[]]]" };
		size_t i;

		for (i = 0; i < ARRAY_SIZE(values); i++) {
			struct campaign *c = NULL;

			(void)json_object_set_new(part, key,
						  json_loads(values[i], JSON_DECODE_ANY, NULL));
			if (campaign_recall(7, whole, &lab->now, &c, NULL) == 0)
				campaign_free(c);
		}
		(void)json_object_set(part, key, value);
	}
}

static void what_is_not_whole_is_refused_and_breaks_nothing(void)
{
	static const struct {
		const char *key, *value, *words;
	} rows[] = {
		{ "v", "3", "v: expected 1 to 2" },
		{ "memory", "\"disk\"", "memory" },
		{ "engine", "\"nccl\"", "engine nccl needs memory gpu" },
		{ "kind", "\"dance\"", "kind" },
		{ "hosts", "[]", "hosts: expected 2 to 256" },
		{ "hosts", "[{}, {}]", "hosts[0]" },
		{ "groups", "7", "groups" },
		{ "groups", "[{}]", "groups[0]" },
		{ "timeout_us", "0", "timeout_us" },
		{ "reason", "null", "reason" },
		{ "rounds", "0", "groups[0]: not one of its rounds" },
	};
	CLEANUP(lab_freep) struct lab *lab = begun(4);
	CLEANUP(json_freep) json_t *kept = NULL;
	json_t *group, *sides;
	size_t i;

	(void)campaign_advance(lab->campaign, &lab->now, &lab->around);
	kept = campaign_keep(lab->campaign, &lab->now);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *held = json_incref(json_object_get(kept, rows[i].key));
		struct campaign *c = NULL;
		struct err err = ERR_INIT;

		(void)json_object_set_new(kept, rows[i].key,
					  json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
		CHECK_EQ(campaign_recall(7, kept, &lab->now, &c, &err), -EINVAL);
		CHECK_HAS(err.msg, rows[i].words);
		(void)json_object_set_new(kept, rows[i].key, held);
	}
	group = json_array_get(json_object_get(kept, "groups"), 0);
	sides = json_object_get(group, "sides");
	try_without_each_key(lab, kept, kept);
	try_without_each_key(lab, kept, group);
	try_without_each_key(lab, kept, json_array_get(sides, 1));
	try_without_each_key(lab, kept, json_array_get(json_object_get(kept, "hosts"), 3));
	CHECK_EQ(restart(lab, NULL), 0);
	CHECK_EQ(campaign_recall(7, NULL, &lab->now, &(struct campaign *){ NULL }, NULL), -EINVAL);
}

static const struct test tests[] = {
	TEST(all_that_is_kept_comes_back_and_no_secret_is_in_it),
	TEST(a_campaign_in_gpu_memory_goes_on_there_and_not_in_an_older_controller),
	TEST(a_restart_after_each_turn_changes_no_verdict),
	TEST(an_answer_from_before_a_restart_and_one_from_after_it_make_a_group),
	TEST(a_group_without_all_answers_runs_anew_when_the_old_order_is_over),
	TEST(a_clock_that_was_set_in_between_makes_no_wait_longer),
	TEST(hosts_have_time_to_come_back_after_a_restart),
	TEST(who_cannot_ask_yet_gives_nobody_up),
	TEST(one_that_ends_the_controller_or_is_old_does_not_go_on),
	TEST(what_is_not_whole_is_refused_and_breaks_nothing),
};

TEST_SUITE(tests);
