/* SPDX-License-Identifier: Apache-2.0 */
/* The course of rounds: orders, answers, time, and hosts that do not cooperate. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/report.h"
#include "tests/unit/campaign_lab.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

static struct lab *begun(size_t n)
{
	struct lab *lab = lab_new(n, 1, n);

	CHECK_EQ(lab_begin(lab, NULL, NULL), 0);
	return lab;
}

static const char *text(const json_t *order, const char *key)
{
	return json_string_value(json_object_get(order, key));
}

static void an_order_is_what_was_agreed(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(4);
	json_t *orders[4];
	uint64_t now_us = 0, deadline_us = 0;
	size_t i, j;

	CHECK(campaign_advance(lab->campaign, &lab->now, &lab->around));
	for (i = 0; i < 4; i++) {
		const json_t *peers;
		size_t rank;

		CHECK(campaign_has_order(lab->campaign, lab->name[i], lab->now.mono_us));
		orders[i] = campaign_order(lab->campaign, lab->name[i], &lab->now);
		CHECK(!campaign_has_order(lab->campaign, lab->name[i], lab->now.mono_us));
		peers = json_object_get(orders[i], "peers");
		rank = (size_t)json_integer_value(json_object_get(orders[i], "rank"));
		CHECK_STR(text(orders[i], "kind"), "allreduce");
		CHECK_EQ(json_array_size(peers), 2);
		CHECK(json_equal(peers, json_object_get(orders[i], "passed")));
		CHECK_STR(json_string_value(json_array_get(peers, rank)), lab->name[i]);
		CHECK_EQ(strlen(text(orders[i], "token")), CAMPAIGN_TOKEN_SIZE - 1);
		CHECK(strlen(text(orders[i], "id")) < CAMPAIGN_ID_SIZE);
		CHECK_EQ(clock_parse_stamp(text(orders[i], "now"), &now_us), 0);
		CHECK_EQ(clock_parse_stamp(text(orders[i], "deadline"), &deadline_us), 0);
		CHECK_EQ(deadline_us - now_us, 60 * USEC_PER_SEC);
		CHECK(!campaign_order(lab->campaign, lab->name[i], &lab->now));
	}
	/* Two members of a group share everything except the rank; members of two groups share
	 * nothing. */
	for (i = 0; i < 4; i++) {
		for (j = 0; j < i; j++) {
			const bool same = json_equal(json_object_get(orders[i], "peers"),
						     json_object_get(orders[j], "peers"));

			CHECK_EQ(streq(text(orders[i], "id"), text(orders[j], "id")), same);
			CHECK_EQ(streq(text(orders[i], "token"), text(orders[j], "token")), same);
		}
	}
	for (i = 0; i < 4; i++)
		json_decref(orders[i]);
	CHECK(!campaign_order(lab->campaign, "nobody", &lab->now));
}

static void an_order_is_told_again_with_less_time(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(2);
	CLEANUP(json_freep) json_t *first = NULL;
	CLEANUP(json_freep) json_t *second = NULL;

	(void)campaign_advance(lab->campaign, &lab->now, &lab->around);
	first = campaign_order(lab->campaign, "gpu-0", &lab->now);
	lab->now.mono_us += CAMPAIGN_AGAIN_US;
	lab->now.real_us += CAMPAIGN_AGAIN_US;
	second = campaign_order(lab->campaign, "gpu-0", &lab->now);
	CHECK_STR(text(second, "id"), text(first, "id"));
	CHECK_STR(text(second, "deadline"), text(first, "deadline"));
	lab->now.mono_us += 60 * USEC_PER_SEC;
	CHECK(!campaign_order(lab->campaign, "gpu-0", &lab->now));
}

static void each_round_has_new_tokens_and_ids(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(6);
	size_t i, j;

	lab_play(lab);
	CHECK(lab->campaign->rounds >= 2);
	for (i = 0; i < lab->campaign->n_groups; i++) {
		for (j = 0; j < i; j++)
			CHECK(!streq(lab->campaign->groups[i].token,
				     lab->campaign->groups[j].token));
	}
}

static void only_the_member_that_was_told_may_answer_and_once(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(2);
	CLEANUP(json_freep) json_t *order = NULL;
	struct report report = report_make();
	const char *id;

	(void)campaign_advance(lab->campaign, &lab->now, &lab->around);
	order = campaign_order(lab->campaign, "gpu-0", &lab->now);
	id = text(order, "id");
	CHECK(!campaign_report(lab->campaign, id, &report)); /* host1 is not a member */
	free(report.node);
	report.node = xstrdup("gpu-1");
	CHECK(!campaign_report(lab->campaign, id, &report)); /* it has no order yet */
	free(report.node);
	report.node = xstrdup("gpu-0");
	CHECK(!campaign_report(lab->campaign, "campaign-7-1-2", &report));
	CHECK(campaign_report(lab->campaign, id, &report));
	CHECK(!campaign_report(lab->campaign, id, &report));
	/* One side alone is not enough. */
	CHECK(!campaign_advance(lab->campaign, &lab->now, &lab->around));
	CHECK_EQ(lab->campaign->groups[0].phase, GROUP_RUNNING);
	report_release(&report);
}

static void a_host_that_takes_orders_and_never_reports_is_asked_no_more(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(6);
	size_t i;

	lab->ways[3] = LAB_SILENT;
	lab_play(lab);
	CHECK_EQ(lab->campaign->hosts[3].state, PAIRING_GONE);
	CHECK_HAS(lab->campaign->hosts[3].why, "did not report");
	for (i = 0; i < 6; i++) {
		CHECK_EQ(lab->campaign->hosts[i].state == PAIRING_GONE, i == 3);
		CHECK(lab_says(lab, i) <= 0);
	}
	CHECK_EQ(lab_says(lab, 3), 0);
	CHECK(!campaign_shared(lab->campaign));
}

static void a_host_that_takes_no_orders_is_waited_for_and_then_left_out(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(4);
	const uint64_t start_us = lab->now.mono_us;

	lab->ways[2] = LAB_AWAY;
	CHECK(lab_turn(lab));
	CHECK(lab->campaign->hosts[2].state != PAIRING_GONE);
	lab_play(lab);
	CHECK(lab->now.mono_us - start_us >= CAMPAIGN_GRACE_US);
	CHECK_EQ(lab->campaign->hosts[2].state, PAIRING_GONE);
	CHECK_HAS(lab->campaign->hosts[2].why, "not connected");
	CHECK_EQ(lab_says(lab, 2), 0);
}

static void a_host_that_comes_back_in_time_takes_part(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(4);

	lab->ways[2] = LAB_AWAY;
	CHECK(lab_turn(lab));
	lab->ways[2] = LAB_MEASURES;
	lab_play(lab);
	CHECK_EQ(lab_says(lab, 2), -1);
}

static void a_busy_host_is_never_slow(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(8);
	size_t i;

	lab->ways[1] = LAB_BUSY;
	lab->part[1] = 0.2;
	lab_play(lab);
	CHECK_HAS(lab->campaign->hosts[1].why, "a job runs on it");
	for (i = 0; i < 8; i++)
		CHECK(lab_says(lab, i) <= 0);
}

static void not_more_hosts_are_tested_at_once_than_may_be(void)
{
	CLEANUP(lab_freep) struct lab *lab = lab_new(16, 1, 16);
	const struct campaign_ask ask = { .at_once = 5 };

	lab->part[4] = 0.5;
	CHECK_EQ(lab_begin(lab, &ask, NULL), 0);
	lab_play(lab);
	CHECK_EQ(lab->most_at_once, 4);
	CHECK_EQ(lab_says(lab, 4), 1);
}

static void nobody_answers_and_it_ends_all_the_same(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(8);
	size_t i;

	for (i = 0; i < 8; i++)
		lab->ways[i] = LAB_SILENT;
	lab_play(lab);
	CHECK_HAS(lab->campaign->sentence, "nothing was measured");
	for (i = 0; i < 8; i++)
		CHECK_EQ(lab_says(lab, i), 0);
}

static void whoever_asks_may_want_fewer_rounds(void)
{
	CLEANUP(lab_freep) struct lab *lab = lab_new(16, 1, 16);
	const struct campaign_ask ask = { .plan = PAIRING_BISECT, .rounds_max = 1 };

	lab->part[3] = 0.5;
	CHECK_EQ(lab_begin(lab, &ask, NULL), 0);
	lab_play(lab);
	CHECK_EQ(lab->campaign->state, CAMPAIGN_DONE);
	CHECK_EQ(lab->campaign->rounds, 1);
	CHECK_EQ(lab->campaign->rounds_max, 1);
	CHECK(lab->campaign->n_blames > 0 && lab->campaign->blames[0].kind == PAIRING_UNDECIDED);
}

static void what_is_no_campaign_is_refused_in_words(void)
{
	static const struct {
		size_t n;
		struct campaign_measure measure;
		int plan;
		const char *words;
	} rows[] = {
		{ 1, { CAMPAIGN_ALLREDUCE }, PAIRING_TWO_PASS, "fewer than two hosts" },
		{ 2, { CAMPAIGN_PAIR }, PAIRING_BISECT, "does not work with pairs" },
		{ 65, { CAMPAIGN_ALLREDUCE }, PAIRING_BISECT, "at most 64 in one collective" },
		{ 65, { CAMPAIGN_PAIR }, PAIRING_EVERY_TWO, "plan every-two takes at most 64" },
		{ 2,
		  { CAMPAIGN_ALLREDUCE, CAMPAIGN_HOST_MEMORY, CAMPAIGN_NCCL },
		  PAIRING_TWO_PASS,
		  "engine nccl needs memory gpu" },
		{ 2,
		  { CAMPAIGN_PAIR, CAMPAIGN_GPU_MEMORY, CAMPAIGN_NCCL },
		  PAIRING_TWO_PASS,
		  "engine nccl does not work with pairs" },
	};
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(lab_freep) struct lab *lab = lab_new(rows[i].n, 1, 8);
		const struct campaign_ask ask = { .measure = rows[i].measure, .plan = rows[i].plan };

		CHECK_EQ(lab_begin(lab, &ask, &err), -EINVAL);
		CHECK_HAS(err.msg, rows[i].words);
	}
}

static void an_order_says_which_memory_and_engine(void)
{
	static const struct {
		struct campaign_measure measure;
		const char *memory, *engine, *check;
	} rows[] = {
		{ { CAMPAIGN_ALLREDUCE }, "host", "verbs", "all_reduce.busbw" },
		{ { CAMPAIGN_PAIR }, "host", "verbs", "rnic_pair.write_bw" },
		{ { CAMPAIGN_PAIR, CAMPAIGN_GPU_MEMORY }, "gpu", "verbs", "rnic_pair.gpu_write_bw" },
		{ { CAMPAIGN_ALLREDUCE, CAMPAIGN_GPU_MEMORY },
		  "gpu",
		  "verbs",
		  "all_reduce.gpu_busbw" },
		{ { CAMPAIGN_ALLREDUCE, CAMPAIGN_GPU_MEMORY, CAMPAIGN_NCCL },
		  "gpu",
		  "nccl",
		  "all_reduce.nccl_busbw" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(lab_freep) struct lab *lab = lab_new(4, 2, 4);
		const struct campaign_ask ask = { .measure = rows[i].measure };
		CLEANUP(json_freep) json_t *order = NULL;

		CHECK_EQ(lab_begin(lab, &ask, NULL), 0);
		CHECK_STR(campaign_check(lab->campaign), rows[i].check);
		CHECK(campaign_advance(lab->campaign, &lab->now, &lab->around));
		order = campaign_order(lab->campaign, lab->name[0], &lab->now);
		CHECK_STR(text(order, "memory"), rows[i].memory);
		CHECK_STR(text(order, "engine"), rows[i].engine);
	}
}

static void what_a_check_is_about_is_measured_again(void)
{
	static const struct {
		const char *check, *name;
	} rows[] = {
		{ "all_reduce.busbw", "all_reduce.busbw" },
		{ "all_reduce.link_bw", "all_reduce.busbw" },
		{ "all_reduce.gpu_skew", "all_reduce.gpu_busbw" },
		{ "all_reduce.nccl_correct", "all_reduce.nccl_busbw" },
		{ "rnic_pair.connect", "rnic_pair.write_bw" },
		{ "rnic_pair.gpu_write_lat", "rnic_pair.gpu_write_bw" },
		{ "rnic.flapping", "rnic_pair.write_bw" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct campaign_measure measure = campaign_measure_for(rows[i].check);

		CHECK_STR(campaign_measure_name(&measure), rows[i].name);
	}
}

static void rates_in_host_memory_say_nothing_of_gpu_memory(void)
{
	CLEANUP(lab_freep) struct lab *lab = lab_new(4, 1, 4);
	const struct campaign_ask ask = {
		.measure = { CAMPAIGN_ALLREDUCE, CAMPAIGN_GPU_MEMORY, CAMPAIGN_VERBS },
	};
	size_t i;

	/* The answer of agents that do not know the key `memory`. */
	lab->check = "all_reduce.busbw";
	CHECK_EQ(lab_begin(lab, &ask, NULL), 0);
	lab_play(lab);
	for (i = 0; i < lab->campaign->n_groups; i++) {
		CHECK_EQ(lab->campaign->groups[i].outcome, PAIRING_NOT_RUN);
		CHECK_HAS(lab->campaign->groups[i].words, "no rate for any rail");
	}
	CHECK(lab->campaign->n_groups > 0);
}

static void hosts_that_are_gone_from_the_start_do_not_count(void)
{
	CLEANUP(lab_freep) struct lab *lab = lab_new(3, 1, 3);
	struct err err = ERR_INIT;
	size_t i;

	lab->guests[1].state = lab->guests[2].state = PAIRING_GONE;
	lab->guests[1].why = lab->guests[2].why = "it has not passed its own tests";
	CHECK_EQ(lab_begin(lab, NULL, &err), -EINVAL);
	CHECK_HAS(err.msg, "gpu-1: it has not passed its own tests");
	lab->guests[1].state = PAIRING_UNKNOWN;
	CHECK_EQ(lab_begin(lab, NULL, NULL), 0);
	lab_play(lab);
	for (i = 0; i < lab->campaign->n_groups; i++)
		CHECK(lab->campaign->groups[i].members[0] != 2 &&
		      lab->campaign->groups[i].members[1] != 2);
}

static void one_that_is_abandoned_says_why_and_goes_on_no_more(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(4);

	CHECK(lab_turn(lab));
	campaign_abandon(lab->campaign, "the controller ended", 5);
	CHECK(!lab_turn(lab));
	CHECK_STR(lab->campaign->sentence, "abandoned in round 1: the controller ended");
	CHECK(!campaign_order(lab->campaign, "gpu-0", &lab->now));
}

static void without_a_secret_nobody_is_asked_and_it_does_not_wait_for_ever(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(4);
	size_t i;

	lab->no_tokens = true;
	for (i = 0; i < CAMPAIGN_GRACE_US / USEC_PER_SEC; i++) {
		CHECK(lab_turn(lab));
		CHECK(!campaign_order(lab->campaign, "gpu-0", &lab->now));
	}
	CHECK_EQ(lab->campaign->state, CAMPAIGN_RUNNING);
	CHECK(!lab_turn(lab));
	CHECK_EQ(lab->campaign->state, CAMPAIGN_ABANDONED);
	CHECK_STR(lab->campaign->sentence, "abandoned in round 1: no random numbers yet");
	for (i = 0; i < 4; i++)
		CHECK(lab->campaign->hosts[i].state != PAIRING_GONE);
}

static void a_secret_that_comes_in_time_is_waited_for(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(4);

	lab->no_tokens = true;
	CHECK(lab_turn(lab));
	lab->no_tokens = false;
	lab_play(lab);
	CHECK_EQ(lab->campaign->n_blames, 0);
}

static const struct test tests[] = {
	TEST(an_order_is_what_was_agreed),
	TEST(an_order_is_told_again_with_less_time),
	TEST(each_round_has_new_tokens_and_ids),
	TEST(only_the_member_that_was_told_may_answer_and_once),
	TEST(a_host_that_takes_orders_and_never_reports_is_asked_no_more),
	TEST(a_host_that_takes_no_orders_is_waited_for_and_then_left_out),
	TEST(a_host_that_comes_back_in_time_takes_part),
	TEST(a_busy_host_is_never_slow),
	TEST(not_more_hosts_are_tested_at_once_than_may_be),
	TEST(nobody_answers_and_it_ends_all_the_same),
	TEST(whoever_asks_may_want_fewer_rounds),
	TEST(what_is_no_campaign_is_refused_in_words),
	TEST(an_order_says_which_memory_and_engine),
	TEST(what_a_check_is_about_is_measured_again),
	TEST(rates_in_host_memory_say_nothing_of_gpu_memory),
	TEST(hosts_that_are_gone_from_the_start_do_not_count),
	TEST(one_that_is_abandoned_says_why_and_goes_on_no_more),
	TEST(without_a_secret_nobody_is_asked_and_it_does_not_wait_for_ever),
	TEST(a_secret_that_comes_in_time_is_waited_for),
};

TEST_SUITE(tests);
