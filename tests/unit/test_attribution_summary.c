/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a window: its keys, classes and limits. */
#include <math.h>
#include <stdlib.h>

#include "attribution/summary.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/attribution/as_trace.h"
#include "tests/attribution/inject.h"
#include "tests/unit/test.h"

static json_t *summary_of(const char *injection, const struct job *sizes, double min_slowdown)
{
	CLEANUP(freep) struct job *job = xcalloc(1, sizeof(*job));
	CLEANUP(attribution_freep) struct attribution *a = NULL;
	struct attribution_options options = ATTRIBUTION_OPTIONS;
	struct err err = ERR_INIT;

	options.min_slowdown = min_slowdown;
	injection_job(injection_find(injection), sizes, 1, job);
	CHECK_EQ(attribution_new(job_as_trace(job), &options, &a, &err), 0);
	return summary_document(a);
}

static const char *text(const json_t *doc, const char *key)
{
	const char *value = json_string_value(json_object_get(doc, key));

	return value ? value : "";
}

static void each_cause_has_its_class(void)
{
	static const struct {
		const char *injection, *cause, *class;
		size_t suspects;
	} rows[] = {
		{ "none", "none", "none", 0 },
		{ "slow-worker", "worker", "compute", 1 },
		{ "two-slow", "worker", "compute", 2 },
		{ "flapping-link", "", "link", 2 },
		{ "last-stage", "stage", "job", 0 },
		{ "sequences", "seqlen", "job", 0 },
		{ "pauses", "gc", "job", 0 },
		{ "slow-collectives", "comm", "fabric", 0 },
		{ "loading", "rejected", "unclear", 0 },
		{ "one-replica", "worker", "unclear", 0 },
	};
	struct job sizes = { .steps = 12 };
	size_t i, j, n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(json_freep)
		json_t *doc = summary_of(rows[i].injection, &sizes, SUMMARY_STRAGGLING);
		const json_t *suspects = json_object_get(doc, "suspects");

		CHECK_STR(text(doc, "format"), "assay-attribution-summary/1");
		if (rows[i].cause[0])
			CHECK_STR(text(doc, "cause"), rows[i].cause);
		CHECK_STR(text(doc, "class"), rows[i].class);
		for (j = n = 0; j < json_array_size(suspects); j++)
			n += json_is_true(json_object_get(json_array_get(suspects, j), "counts"));
		CHECK_EQ(n, rows[i].suspects);
		CHECK(strlen(text(doc, "sentence")) > 20);
	}
}

static void a_slowdown_below_the_cut_has_no_cause(void)
{
	struct job sizes = { .dp = 4, .pp = 2, .steps = 12 };
	CLEANUP(json_freep) json_t *low = summary_of("last-stage", &sizes, 1);
	CLEANUP(json_freep) json_t *high = summary_of("last-stage", &sizes, 50);

	CHECK_STR(text(low, "cause"), "stage");
	CHECK_STR(text(high, "cause"), "none");
	CHECK_STR(text(high, "class"), "none");
}

static void a_heat_map_has_a_limit(void)
{
	struct job sizes = { .dp = 2500, .pp = 2, .mb = 2, .steps = 3 };
	CLEANUP(json_freep) json_t *doc = summary_of("none", &sizes, 1.1);
	CLEANUP(freep) char *bytes = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(9));
	const json_t *heat = json_object_get(doc, "heat");

	CHECK_EQ(json_integer_value(json_object_get(heat, "rows")), 2048);
	CHECK_EQ(json_integer_value(json_object_get(heat, "columns")), 2);
	CHECK_EQ(json_array_size(json_object_get(heat, "values")), 2048);
	CHECK(strlen(bytes) < 256 << 10);
	CHECK(json_is_false(json_object_get(doc, "enough")));
	CHECK(json_is_null(json_object_get(json_object_get(doc, "slowdown"), "low")));
}

static size_t size_of(const json_t *doc, const char *key)
{
	return json_array_size(json_object_get(json_object_get(doc, "detail"), key));
}

/* The slowest in their order, and lines of at most 64 places. */
static void a_picture_has_a_limit(void)
{
	struct job sizes = { .dp = 90, .pp = 2, .mb = 2, .steps = 70 };
	CLEANUP(json_freep) json_t *doc = summary_of("none", &sizes, 1.1);
	const json_t *detail = json_object_get(doc, "detail");
	const json_t *steps = json_object_get(detail, "step");
	size_t i;

	CHECK_EQ(json_array_size(steps), 60);
	for (i = 1; i < json_array_size(steps); i++)
		CHECK(json_integer_value(json_array_get(steps, i)) >
		      json_integer_value(json_array_get(steps, i - 1)));
	CHECK_EQ(size_of(doc, "step_T"), 60);
	CHECK_EQ(json_array_size(json_array_get(json_object_get(detail, "step_S_dp"), 0)), 64);
	CHECK_EQ(json_array_size(json_array_get(json_object_get(detail, "step_S_pp"), 59)), 2);
	CHECK_EQ(size_of(doc, "ranks"), 180);
	CHECK_EQ(size_of(doc, "nodes"), 180);
}

/* What mending a part gives is what the analysis says of it; a job names nobody when it is too large. */
static void a_picture_says_what_the_analysis_does(void)
{
	struct job sizes = { .dp = 4, .pp = 2, .steps = 12 };
	struct job large = { .dp = 2500, .pp = 2, .mb = 2, .steps = 3 };
	CLEANUP(json_freep) json_t *doc = summary_of("last-stage", &sizes, 1.03);
	CLEANUP(json_freep) json_t *whole = summary_of("none", &large, 1.1);
	const json_t *detail = json_object_get(doc, "detail");
	const json_t *mended = json_object_get(detail, "mended");
	double t = json_number_value(json_object_get(detail, "T"));
	double ideal = json_number_value(json_object_get(detail, "T_ideal"));
	const json_t *slowdown = json_object_get(doc, "slowdown");

	CHECK_NEAR(t / ideal, json_number_value(json_object_get(slowdown, "value")), 1e-9);
	CHECK(json_number_value(json_object_get(mended, "M_s")) > 0.5);
	CHECK(json_object_size(json_object_get(detail, "S_t")) > 3);
	CHECK_EQ(size_of(doc, "step"), 12);
	CHECK(!json_object_get(json_object_get(whole, "detail"), "ranks"));
}

static void what_is_not_known_is_null(void)
{
	struct interval interval = { 1.5, NAN, INFINITY };
	CLEANUP(json_freep) json_t *object = summary_interval(&interval);

	CHECK_NEAR(json_real_value(json_object_get(object, "value")), 1.5, 0);
	CHECK(json_is_null(json_object_get(object, "low")));
	CHECK(json_is_null(json_object_get(object, "high")));
}

/* Replicas beside each other: the workers of a host are in a row, those of a job cut otherwise not. */
static void all_ranks_of_a_suspect_are_said(void)
{
	static const struct {
		int32_t ranks[3]; /* of the first rank of three workers, with that of its peers */
		const char *spans;
	} rows[] = {
		{ { 0, 2, 4 }, "[[0,5]]" },
		{ { 4, 0, 2 }, "[[0,5]]" },
		{ { 0, 2, 8 }, "[[0,3],[8,9]]" },
		{ { 30, 10, 20 }, "[[10,11],[20,21],[30,31]]" },
	};
	struct job sizes = { .dp = 4, .pp = 2, .tp = 2, .steps = 12 };
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) struct job *job = xcalloc(1, sizeof(*job));
		CLEANUP(attribution_freep) struct attribution *a = NULL;
		CLEANUP(json_freep) json_t *found = NULL;
		CLEANUP(freep) char *said = NULL;
		struct attribution_options options = ATTRIBUTION_OPTIONS;
		struct err err = ERR_INIT;
		struct suspect *suspect;

		injection_job(injection_find("slow-worker"), &sizes, 1, job);
		CHECK_EQ(attribution_new(job_as_trace(job), &options, &a, &err), 0);
		suspect = &a->suspects.list[0];
		suspect->workers = xrealloc(suspect->workers, 3, sizeof(*suspect->workers));
		suspect->n = 3;
		for (j = 0; j < 3; j++) {
			suspect->workers[j] = (uint32_t)j;
			a->trace->job.workers[j].rank = rows[i].ranks[j];
		}
		found = summary_suspects(a);
		said = json_dumps(json_object_get(json_array_get(found, 0), "rank_spans"),
				  JSON_COMPACT);
		CHECK_STR(said, rows[i].spans);
	}
}

/* Two replicas that are equally slow hide each other: the list has both, and mended both gain. */
static void hosts_are_replaced_until_nothing_is_gained(void)
{
	static const struct {
		const char *injection;
		size_t hosts;
	} rows[] = { { "none", 0 }, { "slow-worker", 1 }, { "two-slow", 2 }, { "sick-node", 1 } };
	struct job sizes = { .dp = 4, .pp = 4, .steps = 12 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) struct job *job = xcalloc(1, sizeof(*job));
		CLEANUP(attribution_freep) struct attribution *a = NULL;
		struct attribution_options options = ATTRIBUTION_OPTIONS;
		struct err err = ERR_INIT;

		injection_job(injection_find(rows[i].injection), &sizes, 1, job);
		CHECK_EQ(attribution_new(job_as_trace(job), &options, &a, &err), 0);
		CHECK_EQ(a->replace.n, rows[i].hosts);
		CHECK(a->replace.tried <= REPLACE_ROUNDS * REPLACE_TRIED);
		if (a->replace.n == 0)
			continue;
		CHECK(a->replace.list[a->replace.n - 1].time.value < 1.05 * a->slowdown.ideal);
		CHECK(a->replace.list[0].gap_s >= 0);
		if (rows[i].hosts == 1)
			CHECK_NEAR(a->replace.list[0].time.value,
				   a->slowdown.node_times[a->replace.list[0].node], 1e-12);
	}
}

/* F, B, M and who is slow come back of a job that was made of them. */
static void an_outline_is_that_of_the_job(void)
{
	struct job sizes = { .dp = 4, .pp = 4, .mb = 8, .steps = 12 };
	CLEANUP(json_freep) json_t *doc = summary_of("slow-worker", &sizes, SUMMARY_STRAGGLING);
	const json_t *r = json_object_get(json_object_get(doc, "detail"), "remedies");
	const json_t *list = json_object_get(r, "slowdown");
	size_t slow = 0, i;

	CHECK_EQ(json_integer_value(json_object_get(r, "microbatches")), 8);
	CHECK_EQ(json_array_size(json_object_get(r, "forward_s")), 4);
	CHECK_EQ(json_array_size(list), 16);
	for (i = 0; i < 16; i++)
		slow += json_number_value(json_array_get(list, i)) > 1.2;
	CHECK_EQ(slow, 1);
	CHECK_EQ(json_array_size(json_object_get(r, "replace")), 1);
	CHECK(json_is_null(json_object_get(r, "sequences")));
	CHECK(json_is_false(json_object_get(r, "stages")));
}

static const struct test tests[] = {
	TEST(hosts_are_replaced_until_nothing_is_gained),
	TEST(an_outline_is_that_of_the_job),
	TEST(all_ranks_of_a_suspect_are_said),
	TEST(each_cause_has_its_class),
	TEST(a_slowdown_below_the_cut_has_no_cause),
	TEST(a_heat_map_has_a_limit),
	TEST(a_picture_has_a_limit),
	TEST(a_picture_says_what_the_analysis_does),
	TEST(what_is_not_known_is_null),
};

TEST_SUITE(tests);
