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

static const struct test tests[] = {
	TEST(all_ranks_of_a_suspect_are_said),
	TEST(each_cause_has_its_class),
	TEST(a_slowdown_below_the_cut_has_no_cause),
	TEST(a_heat_map_has_a_limit),
	TEST(what_is_not_known_is_null),
};

int main(void)
{
	return TEST_MAIN("attribution_summary", tests);
}
