/* SPDX-License-Identifier: Apache-2.0 */
/* The final result of a campaign, and the evaluation of a report for its host. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/campaign/campaign_side.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/report.h"
#include "tests/unit/campaign_lab.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

enum { PLACES_SIZE = 200 };

static struct lab *begun(size_t n, size_t n_rails, size_t per_leaf)
{
	struct lab *lab = lab_new(n, n_rails, per_leaf);

	CHECK_EQ(lab_begin(lab, NULL, NULL), 0);
	return lab;
}

static void check_says(const struct lab *lab, size_t bad)
{
	size_t i;

	for (i = 0; i < lab->n; i++)
		CHECK_EQ(lab_says(lab, i), i == bad ? 1 : -1);
}

static void see_slow(void *context, const struct campaign_says *says)
{
	size_t *seen = context, i;

	if (!says->bad)
		return;
	++*seen;
	CHECK_STR(says->node, "gpu-5");
	CHECK_STR(says->check, "all_reduce.busbw");
	CHECK_STR(says->subject, "fabric");
	CHECK_NEAR(says->ratio, 0.5, 0.05);
	CHECK_EQ(says->n_passes, 2);
	for (i = 0; i < says->n_passes; i++) {
		CHECK(says->passes[i].partner_good);
		CHECK_HAS(says->words, says->passes[i].partner);
	}
	CHECK(starts_with(says->words, "reaches "));
	CHECK_HAS(says->words, "round 1 with gpu-");
	CHECK_HAS(says->words, "round 2 with gpu-");
	CHECK_HAS(says->words, " GB/s");
}

static void a_slow_host_is_named_after_the_second_pass_with_its_passes(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(8, 1, 8);
	size_t seen = 0;

	lab->part[5] = 0.5;
	lab_play(lab);
	CHECK_EQ(lab->campaign->rounds, 2);
	check_says(lab, 5);
	campaign_each(lab->campaign, see_slow, &seen);
	CHECK_EQ(seen, 1);
	CHECK_HAS(lab->campaign->sentence, "gpu-5 reaches");
	CHECK(!campaign_shared(lab->campaign));
}

static void see_rates(void *context UNUSED, const struct campaign_says *says)
{
	if (!says->bad)
		return;
	CHECK_HAS(says->words, "with gpu-");
	CHECK_HAS(says->words, " MB/s");
	CHECK(!strstr(says->words, "GB/s"));
}

static void rates_of_slow_fabrics_are_told_in_a_unit_that_shows_them(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(8, 1, 8);
	size_t i;

	for (i = 0; i < lab->n; i++)
		lab->part[i] = i == 5 ? 0.5e-4 : 1e-4;
	lab_play(lab);
	check_says(lab, 5);
	campaign_each(lab->campaign, see_rates, NULL);
}

static void good_hosts_are_all_told_good(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(9, 2, 9);

	lab_play(lab);
	check_says(lab, SIZE_MAX);
	CHECK_HAS(lab->campaign->sentence, "no host is slow: 9 hosts");
	CHECK(!campaign_shared(lab->campaign));
}

/* A host reports only about itself, so reporting too low a rate makes itself look slow. */
static void a_host_that_says_too_little_accuses_itself(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(8, 1, 8);

	lab->ways[2] = LAB_MODEST;
	lab_play(lab);
	check_says(lab, 2);
}

static void a_host_with_which_groups_break_off_is_named(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(8, 1, 8);

	lab->ways[6] = LAB_BREAKS;
	lab_play(lab);
	check_says(lab, 6);
	CHECK_HAS(lab->campaign->sentence, "gpu-6");
}

static void see_rail(void *context, const struct campaign_says *says)
{
	size_t *seen = context;

	if (!says->bad)
		return;
	++*seen;
	CHECK_STR(says->node, "gpu-1");
	CHECK_STR(says->subject, "rail:2");
}

static void a_slow_rail_is_named_by_its_number(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(8, 4, 8);
	size_t seen = 0;

	lab->nic[1][2] = 0.5;
	lab_play(lab);
	campaign_each(lab->campaign, see_rail, &seen);
	CHECK_EQ(seen, 1);
}

static void a_slow_switch_accuses_no_host(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(24, 1, 8);
	CLEANUP(freep) char *words = NULL;
	size_t i;

	for (i = 8; i < 16; i++)
		lab->below[i] = 0.5;
	lab_play(lab);
	for (i = 0; i < 24; i++)
		CHECK_EQ(lab_says(lab, i), i >= 8 && i < 16 ? 0 : -1);
	words = campaign_shared(lab->campaign);
	CHECK_HAS(words, "leaf-1");
	CHECK_STR(campaign_place(lab->campaign), "leaf-1");
}

static void add_place(void *context, const char *place)
{
	char *text = context;
	const size_t n = strlen(text);

	(void)snprintf(text + n, PLACES_SIZE - n, "%s;", place);
}

static void places_are_clear_when_those_there_were_good(void)
{
	/* Hosts below each of three switches of four; which are slow, and the certain result. */
	static const struct {
		const char *domain;
		size_t slow_leaf, slow_host;
		const char *clear;
	} rows[] = {
		{ NULL, SIZE_MAX, SIZE_MAX, "leaf-0;leaf-1;leaf-2;" },
		{ "rack-7", SIZE_MAX, SIZE_MAX, "rack-7;leaf-0;leaf-1;leaf-2;" },
		{ "leaf-1", SIZE_MAX, SIZE_MAX, "leaf-1;leaf-0;leaf-2;" },
		/* A slow host is not a slow switch. */
		{ "rack-7", SIZE_MAX, 1, "rack-7;leaf-0;leaf-1;leaf-2;" },
		{ NULL, 1, SIZE_MAX, "leaf-0;leaf-2;" },
	};
	size_t i, host;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(lab_freep) struct lab *lab = lab_new(12, 1, 4);
		const struct campaign_ask ask = { .domain = rows[i].domain };
		char clear[PLACES_SIZE] = "";

		CHECK_EQ(lab_begin(lab, &ask, NULL), 0);
		for (host = 0; host < 12; host++)
			lab->below[host] = host / 4 == rows[i].slow_leaf ? 0.5 : 1;
		if (rows[i].slow_host != SIZE_MAX)
			lab->part[rows[i].slow_host] = 0.5;
		lab_play(lab);
		campaign_each_clear(lab->campaign, add_place, clear);
		CHECK_STR(clear, rows[i].clear);
	}
}

static void nothing_is_clear_where_nothing_was_measured(void)
{
	CLEANUP(lab_freep) struct lab *lab = lab_new(4, 1, 4);
	char clear[PLACES_SIZE] = "";
	size_t i;

	for (i = 0; i < 4; i++)
		lab->ways[i] = LAB_BUSY;
	CHECK_EQ(lab_begin(lab, NULL, NULL), 0);
	lab_play(lab);
	campaign_each_clear(lab->campaign, add_place, clear);
	CHECK_STR(clear, "");
}

static void pairs_are_measured_likewise(void)
{
	CLEANUP(lab_freep) struct lab *lab = lab_new(6, 2, 6);
	const struct campaign_ask ask = { .measure.kind = CAMPAIGN_PAIR };

	lab->part[0] = 0.4;
	CHECK_EQ(lab_begin(lab, &ask, NULL), 0);
	CHECK_STR(campaign_check(lab->campaign), "rnic_pair.write_bw");
	lab_play(lab);
	check_says(lab, 0);
}

static void large_groups_are_halved(void)
{
	CLEANUP(lab_freep) struct lab *lab = lab_new(16, 1, 16);
	const struct campaign_ask ask = { .plan = PAIRING_BISECT };

	lab->part[9] = 0.5;
	CHECK_EQ(lab_begin(lab, &ask, NULL), 0);
	lab_play(lab);
	CHECK_EQ(lab_says(lab, 9), 1);
	CHECK(lab->campaign->groups[0].n > 2);
}

/* --- one report --- */

struct row {
	enum sample_state state;
	int problem; /* -1: none */
	enum pairing_outcome outcome;
	bool unfit;
};

static void a_report_is_taken_as_what_was_done(void)
{
	static const struct row rows[] = {
		{ SAMPLE_MEASURED, -1, PAIRING_MEASURED, false },
		{ SAMPLE_MEASURED, PROBLEM_EXIT, PAIRING_MEASURED, false },
		{ SAMPLE_MEASURED, PROBLEM_BUSY, PAIRING_NOT_RUN, true },
		{ SAMPLE_BUSY, -1, PAIRING_NOT_RUN, true },
		{ SAMPLE_FOREIGN_TRAFFIC, -1, PAIRING_NOT_RUN, false },
		{ SAMPLE_SET_UP, PROBLEM_EXIT, PAIRING_NOT_RUN, false },
		{ SAMPLE_ABORTED, PROBLEM_EXIT, PAIRING_FAILED, false },
		{ SAMPLE_ABORTED, PROBLEM_BUSY, PAIRING_NOT_RUN, true }, /* gave way to a job */
		{ SAMPLE_TIMEOUT, PROBLEM_TIMEOUT, PAIRING_FAILED, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct campaign_side side = { 0 };
		struct report report = report_make();
		struct sample *s = report_put(&report, "all_reduce.busbw", "mlx5_0:1", 24e9);

		s->code = xstrdup("rail:0");
		s->state = (int)rows[i].state;
		if (s->state != SAMPLE_MEASURED)
			s->value = NAN;
		if (rows[i].problem >= 0)
			report_put_problem(&report, "all-reduce", rows[i].problem, "why");
		campaign_side_read(&side, "all_reduce.busbw", &report);
		CHECK(side.answered);
		CHECK_EQ(side.outcome, rows[i].outcome);
		CHECK_EQ(side.unfit, rows[i].unfit);
		free(side.words);
		report_release(&report);
	}
}

static void without_a_sample_the_problem_says_it(void)
{
	static const struct row rows[] = {
		{ 0, PROBLEM_TIMEOUT, PAIRING_NOT_RUN, false },
		{ 0, PROBLEM_CRASHED, PAIRING_NOT_RUN, false },
		{ 0, PROBLEM_NOT_APPLICABLE, PAIRING_NOT_RUN, true },
		{ 0, PROBLEM_SET_UP, PAIRING_NOT_RUN, false },
		{ 0, -1, PAIRING_NOT_RUN, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct campaign_side side = { 0 };
		struct report report = report_make();

		(void)report_put(&report, "gemm.rate", "cpu:0", 1);
		if (rows[i].problem >= 0)
			report_put_problem(&report, "all-reduce", rows[i].problem, "why");
		campaign_side_read(&side, "all_reduce.busbw", &report);
		CHECK_EQ(side.outcome, rows[i].outcome);
		CHECK_EQ(side.unfit, rows[i].unfit);
		CHECK(side.words);
		free(side.words);
		report_release(&report);
	}
}

/* A hung host does not report; the others saw the abort. Two hosts without time saw nothing. */
static void who_is_late_is_believed_to_hang_only_when_another_saw_it(void)
{
	static const struct {
		enum pairing_outcome other;
		bool other_late;
		enum pairing_outcome outcome;
	} rows[] = {
		{ PAIRING_FAILED, false, PAIRING_FAILED },
		{ PAIRING_NOT_RUN, true, PAIRING_NOT_RUN },
		{ PAIRING_NOT_RUN, false, PAIRING_NOT_RUN },
		{ PAIRING_MEASURED, false, PAIRING_NOT_RUN },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(lab_freep) struct lab *lab = begun(2, 1, 2);
		struct campaign_side *sides;

		(void)campaign_advance(lab->campaign, &lab->now, &lab->around);
		sides = lab->campaign->groups[0].sides;
		sides[0].answered = sides[1].answered = true;
		sides[0].outcome = PAIRING_NOT_RUN;
		sides[0].late = true;
		sides[1].outcome = rows[i].other;
		sides[1].late = rows[i].other_late;
		sides[1].rails[0] = 1e9;
		campaign_settle(lab->campaign, &lab->campaign->groups[0]);
		CHECK_EQ(lab->campaign->groups[0].outcome, rows[i].outcome);
	}
}

static void the_lowest_value_of_a_rail_counts_and_strange_codes_do_not(void)
{
	static const struct {
		const char *code;
		double value;
	} rows[] = { { "rail:1", 20e9 }, { "rail:1", 19e9 }, { "rail:0>1", 1e9 },
		     { "rail:8", 1e9 },	 { "rail:01", 1e9 }, { "rail:", 1e9 },
		     { NULL, 1e9 },	 { "rail:0", 21e9 }, { "rail:2", -1 },
		     { "rail:3", NAN } };
	struct campaign_side side = { 0 };
	struct report report = report_make();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sample *s = report_put(&report, "rnic_pair.write_bw", "x", rows[i].value);

		s->code = xstrdup(rows[i].code);
	}
	campaign_side_read(&side, "rnic_pair.write_bw", &report);
	CHECK_EQ(side.outcome, PAIRING_MEASURED);
	CHECK_NEAR(side.rails[0], 21e9, 1);
	CHECK_NEAR(side.rails[1], 19e9, 1);
	for (i = 2; i < PAIRING_RAILS_MAX; i++)
		CHECK(side.rails[i] <= 0);
	report_release(&report);
}

static void long_words_of_a_host_are_cut_between_characters(void)
{
	struct campaign_side side = { 0 };
	struct report report = report_make();
	char words[800];
	size_t i;

	for (i = 0; i + 2 < sizeof(words); i += 2)
		(void)snprintf(words + i, 3, "\xc3\xa9");
	report_put_problem(&report, "all-reduce", PROBLEM_SET_UP, words);
	campaign_side_read(&side, "all_reduce.busbw", &report);
	CHECK_EQ(strlen(side.words), 240);
	free(side.words);
	report_release(&report);
}

static void it_is_shown_with_rounds_groups_and_blames(void)
{
	CLEANUP(lab_freep) struct lab *lab = begun(4, 1, 4);
	CLEANUP(json_freep) json_t *value = NULL;
	const json_t *rounds, *group, *blame;

	lab->part[3] = 0.5;
	lab_play(lab);
	value = campaign_json(lab->campaign);
	CHECK(value != NULL);
	rounds = json_object_get(value, "rounds");
	CHECK_EQ(json_array_size(rounds), lab->campaign->rounds);
	group = json_array_get(json_object_get(json_array_get(rounds, 0), "groups"), 0);
	CHECK_EQ(json_array_size(json_object_get(group, "nodes")), 2);
	CHECK_STR(json_string_value(json_object_get(group, "state")), "measured");
	CHECK(json_number_value(json_object_get(group, "value")) > 1e9);
	blame = json_array_get(json_object_get(value, "blames"), 0);
	CHECK_STR(json_string_value(json_object_get(blame, "node")), "gpu-3");
	CHECK_STR(json_string_value(json_object_get(blame, "kind")), "node");
	CHECK_STR(json_string_value(json_object_get(value, "state")), "done");
}

static const struct test tests[] = {
	TEST(a_slow_host_is_named_after_the_second_pass_with_its_passes),
	TEST(rates_of_slow_fabrics_are_told_in_a_unit_that_shows_them),
	TEST(good_hosts_are_all_told_good),
	TEST(a_host_that_says_too_little_accuses_itself),
	TEST(a_host_with_which_groups_break_off_is_named),
	TEST(a_slow_rail_is_named_by_its_number),
	TEST(a_slow_switch_accuses_no_host),
	TEST(places_are_clear_when_those_there_were_good),
	TEST(nothing_is_clear_where_nothing_was_measured),
	TEST(pairs_are_measured_likewise),
	TEST(large_groups_are_halved),
	TEST(a_report_is_taken_as_what_was_done),
	TEST(without_a_sample_the_problem_says_it),
	TEST(who_is_late_is_believed_to_hang_only_when_another_saw_it),
	TEST(the_lowest_value_of_a_rail_counts_and_strange_codes_do_not),
	TEST(long_words_of_a_host_are_cut_between_characters),
	TEST(it_is_shown_with_rounds_groups_and_blames),
};

TEST_SUITE(tests);
