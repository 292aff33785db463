/* SPDX-License-Identifier: Apache-2.0 */
/* The detail of a window for display: validation of untrusted input, and the host of each worker. */
#include "controller/job/summary_detail.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/job/summary.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define TOTALS "\"T_act\":9.05,\"T\":8.99,\"T_ideal\":8.27"
#define STEPS                                                                    \
	"\"step\":[7,9],\"step_act\":[9.1,9],\"step_T\":[9,null],\"step_S_dp\":" \
	"[[1.1,1],[1.2,1]],\"step_S_pp\":[[1.1],[1.2]]"
#define PARTS "\"S_t\":{\"forward-compute\":1.08},\"mended\":{\"M_w\":0.9,\"M_s\":null}"
#define WORKERS "\"beside\":8,\"ranks\":[0,8],\"hosts\":[\"gpu-1\",\"gpu-2\"],\"nodes\":[1,-1]"
#define DETAIL "{" TOTALS "," STEPS "," PARTS "," WORKERS "}"

static int decode(const char *text, json_t **ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;

	CHECK_EQ(json_parse(text, strlen(text), "detail", &value, err), 0);
	root = jval_root(value, "detail");
	return summary_detail_decode(&root, ret, err);
}

static json_t *good(const char *text)
{
	struct err err = ERR_INIT;
	json_t *detail = NULL;

	CHECK_EQ(decode(text, &detail, &err), 0);
	CHECK_STR(err.msg, "");
	return detail;
}

static void what_is_known_is_taken_as_it_is_and_the_rest_left_out(void)
{
	CLEANUP(json_freep)
	json_t *detail = good("{\"tomorrow\":1," TOTALS "," STEPS "," PARTS "," WORKERS "}");
	CLEANUP(json_freep) json_t *same = good(DETAIL);
	CLEANUP(json_freep) json_t *none = good("null");

	CHECK(json_equal(detail, same));
	CHECK(!none);
	CHECK_NEAR(json_number_value(json_array_get(json_object_get(detail, "step_act"), 1)), 9, 0);
}

static void a_job_that_names_no_workers_or_no_hosts_is_taken(void)
{
	CLEANUP(json_freep) json_t *nobody = good("{" TOTALS "," STEPS "," PARTS ",\"beside\":8}");
	CLEANUP(json_freep)
	json_t *nameless = good("{" TOTALS "," STEPS "," PARTS
				",\"ranks\":[0,8],\"hosts\":null,\"nodes\":[0,0]}");

	CHECK(!json_object_get(nobody, "ranks"));
	CHECK_EQ(json_array_size(json_object_get(nameless, "ranks")), 2);
	CHECK(!json_object_get(nameless, "hosts"));
	CHECK(!json_object_get(nameless, "nodes"));
}

#define REMEDIES                                                                             \
	"{\"dp\":2,\"pp\":1,\"microbatches\":4,\"forward_s\":[0.1],\"backward_s\":[0.2],"    \
	"\"slowdown\":[1,1.5],\"replace\":[{\"worker\":1,\"T\":{\"value\":1,\"low\":null,"   \
	"\"high\":null},\"gap_s\":0.5}],\"sequences\":null,\"gc\":{\"value\":2,\"low\":1.5," \
	"\"high\":2.5},\"pause_s\":null,\"stages\":true%s}"

/* An analysis of an earlier version has none. */
static void what_a_plan_needs_is_taken_and_may_be_absent(void)
{
	CLEANUP(freep)
	char *all = xasprintf("{" TOTALS "," STEPS "," PARTS ",\"remedies\":" REMEDIES "}",
			      ",\"tomorrow\":1");
	CLEANUP(freep) char *known = xasprintf(REMEDIES, "");
	CLEANUP(json_freep) json_t *detail = good(all);
	CLEANUP(json_freep) json_t *wanted = json_loads(known, 0, NULL);
	CLEANUP(json_freep) json_t *without = good(DETAIL);

	CHECK(json_equal(json_object_get(detail, "remedies"), wanted));
	CHECK(!json_object_get(without, "remedies"));
}

static void what_a_plan_cannot_need_is_refused_with_its_place(void)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "1", "expected an object" },
		{ "{\"dp\":2}", "expected dp, pp and microbatches" },
		{ "{\"dp\":1,\"pp\":1,\"microbatches\":1,\"forward_s\":[],\"backward_s\":[1]}",
		  "the seconds of 1 stages" },
		{ "{\"dp\":1,\"pp\":1,\"microbatches\":1,\"forward_s\":[1],\"backward_s\":[1],"
		  "\"slowdown\":[-1]}",
		  "slowdown: expected one for each of 1 workers" },
		{ "{\"dp\":4096,\"pp\":4096,\"microbatches\":1}", "the seconds of 4096 stages" },
		{ "{\"gc\":{\"value\":\"x\"}}", "gc: expected the seconds of a step" },
		{ "{\"replace\":[{\"worker\":-1,\"T\":{\"value\":1}}]}", "expected a worker" },
		{ "{\"replace\":[{\"worker\":0}]}", "expected a worker" },
		{ "{\"replace\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}", "at most 16 hosts" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep)
		char *text =
			xasprintf("{" TOTALS "," STEPS "," PARTS ",\"remedies\":%s}", rows[i].text);
		struct err err = ERR_INIT;
		json_t *detail = NULL;

		CHECK_EQ(decode(text, &detail, &err), -EINVAL);
		CHECK_HAS(err.msg, "remedies");
		CHECK_HAS(err.msg, rows[i].words);
		CHECK(!detail);
	}
}

static void what_cannot_be_is_refused_with_its_place(void)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "[]", "expected an object" },
		{ "{}", "T_act: expected seconds" },
		{ "{\"T_act\":-1}", "T_act: expected seconds" },
		{ "{\"T_act\":1,\"T\":\"x\"}", "T: expected seconds" },
		{ "{\"T_act\":1,\"T\":1,\"T_ideal\":1e9}", "T_ideal: expected seconds" },
		{ "{" TOTALS ",\"step\":[]}", "expected 1 to 60 steps" },
		{ "{" TOTALS ",\"step\":[1.5]}", "expected 1 to 60 steps" },
		{ "{" TOTALS ",\"step\":[1],\"step_act\":[1,2]}",
		  "step_act: expected the seconds of 1" },
		{ "{" TOTALS ",\"step\":[1],\"step_act\":[1],\"step_T\":[1],\"step_S_dp\":[[]]}",
		  "step_S_dp: expected the slowdowns" },
		{ "{" TOTALS ",\"step\":[1,2],\"step_act\":[1,1],\"step_T\":[1,1],\"step_S_dp\":"
		  "[[1],[1,1]]}",
		  "step_S_dp: expected the slowdowns of 2 steps" },
		{ "{" TOTALS "," STEPS "}", "S_t: expected at most 32" },
		{ "{" TOTALS "," STEPS ",\"S_t\":{\"a\":1e6}}",
		  "S_t: has a name that is too long" },
		{ "{" TOTALS "," STEPS ",\"S_t\":{},\"mended\":{\"M_w\":\"<b>\"}}", "mended: has" },
		{ "{" TOTALS "," STEPS "," PARTS ",\"beside\":0}", "beside: expected" },
		{ "{" TOTALS "," STEPS "," PARTS ",\"ranks\":[16384]}", "ranks: expected" },
		{ "{" TOTALS "," STEPS "," PARTS
		  ",\"ranks\":[0],\"hosts\":[\"../etc\"],\"nodes\":[0]}",
		  "expected hosts" },
		{ "{" TOTALS "," STEPS "," PARTS ",\"ranks\":[0],\"hosts\":[\"a\"],\"nodes\":[1]}",
		  "expected hosts" },
		{ "{" TOTALS "," STEPS "," PARTS ",\"ranks\":[0],\"hosts\":[\"a\"]}",
		  "expected hosts" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = ERR_INIT;
		json_t *detail = NULL;

		CHECK_EQ(decode(rows[i].text, &detail, &err), -EINVAL);
		CHECK(strstr(err.msg, rows[i].words) != NULL);
		CHECK(!detail);
	}
}

static json_t *settled(const char *const *hosts, const int64_t *ranks, size_t n, bool believed)
{
	struct summary_detail_hosts of;
	json_t *detail = good(DETAIL);
	size_t i;

	summary_detail_begin(&of, detail);
	for (i = 0; i < n; i++)
		summary_detail_name(&of, ranks[i], hosts[i]);
	summary_detail_end(&of, detail, believed);
	return detail;
}

static void hosts_are_those_of_the_ranks_that_were_recorded(void)
{
	static const char *const hosts[] = { "b", "c", "b", "d" };
	static const int64_t ranks[] = { 0, 1, 8, 99999 };
	CLEANUP(json_freep) json_t *detail = settled(hosts, ranks, ARRAY_SIZE(ranks), true);
	CLEANUP(freep) char *names = json_line(json_object_get(detail, "hosts"));
	CLEANUP(freep) char *nodes = json_line(json_object_get(detail, "nodes"));

	CHECK_STR(names, "[\"b\"]");
	CHECK_STR(nodes, "[0,0]");
}

static void one_that_is_in_doubt_has_none_though_the_trace_names_it(void)
{
	static const char *const hosts[] = { "b" };
	static const int64_t ranks[] = { 8 };
	CLEANUP(json_freep) json_t *detail = settled(hosts, ranks, 1, true);
	CLEANUP(freep) char *nodes = json_line(json_object_get(detail, "nodes"));

	CHECK_STR(nodes, "[-1,0]");
}

static void hosts_of_the_trace_stay_only_of_who_is_believed(void)
{
	CLEANUP(json_freep) json_t *believed = settled(NULL, NULL, 0, true);
	CLEANUP(json_freep) json_t *bound = settled(NULL, NULL, 0, false);

	CHECK_EQ(json_array_size(json_object_get(believed, "hosts")), 2);
	CHECK(!json_object_get(bound, "hosts"));
	CHECK(!json_object_get(bound, "nodes"));
}

static const struct test tests[] = {
	TEST(what_is_known_is_taken_as_it_is_and_the_rest_left_out),
	TEST(a_job_that_names_no_workers_or_no_hosts_is_taken),
	TEST(what_a_plan_needs_is_taken_and_may_be_absent),
	TEST(what_a_plan_cannot_need_is_refused_with_its_place),
	TEST(what_cannot_be_is_refused_with_its_place),
	TEST(hosts_are_those_of_the_ranks_that_were_recorded),
	TEST(one_that_is_in_doubt_has_none_though_the_trace_names_it),
	TEST(hosts_of_the_trace_stay_only_of_who_is_believed),
};

TEST_SUITE(tests);
