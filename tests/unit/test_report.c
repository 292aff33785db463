/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/report/rank_env.h"
#include "lib/report/report.h"
#include "tests/unit/test.h"

#define MEASURED "\"check\":\"c\",\"subject\":\"s\",\"state\":\"measured\""

static int read_sample(const char *text, struct sample *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r = json_parse(text, strlen(text), "line 1", &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "line 1");
	return sample_decode(&root, ret, err);
}

static void check_sample_goes_round(const char *text)
{
	CLEANUP(sample_release) struct sample s = sample_init();
	CLEANUP(json_freep) json_t *back = NULL;
	CLEANUP(freep) char *line = NULL;

	CHECK_EQ(read_sample(text, &s, NULL), 0);
	back = sample_encode(&s);
	line = json_line(back);
	CHECK_STR(line, text);
}

static void samples_go_round(void)
{
	/* Every key that the format has. */
	check_sample_goes_round(
		"{\"v\":1,\"check\":\"loopback.write_bw\",\"subject\":\"mlx5_0:1>numa:0\","
		"\"value\":24.9,"
		"\"unit\":\"B/s\",\"better\":\"higher\",\"ok\":true,\"state\":\"measured\","
		"\"from\":\"rnic:mlx5_0\",\"to\":\"numa:0\",\"class\":\"phb\",\"path\":[\"a^b\","
		"\"b^c\"],"
		"\"params\":{\"mtu\":4096},\"with\":[\"node-2\"],\"code\":\"x:1\",\"n\":8,\"min\":"
		"1.0,"
		"\"max\":2.0,\"stddev\":0.1,\"p50\":1.5,\"p99\":1.9,"
		"\"w\":[1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0],\"start\":1795224600.125,\"seconds\":2.5,"
		"\"severity\":\"fatal\",\"note\":\"a sentence\",\"parts\":[{\"id\":\"s\"}]}");
	/* The least. */
	check_sample_goes_round("{\"v\":1,\"check\":\"c\",\"subject\":\"s\",\"value\":null,"
				"\"better\":\"none\",\"ok\":null,\"state\":\"busy\"}");
	check_sample_goes_round("{\"v\":1,\"check\":\"c\",\"subject\":\"s\",\"value\":null,"
				"\"better\":\"none\",\"ok\":false,\"state\":\"measured\","
				"\"severity\":\"info\"}");
	/* An empty list is not an absent one. */
	check_sample_goes_round(
		"{\"v\":1,\"check\":\"c\",\"subject\":\"s\",\"value\":null,"
		"\"better\":\"none\",\"ok\":false,\"state\":\"measured\",\"path\":[]}");
}

static void what_is_no_sample_is_refused_with_its_place(void)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "[]", "line 1: expected an object, not a list" },
		{ "{}", "line 1: check: missing" },
		{ "{\"check\":\"\",\"subject\":\"s\",\"state\":\"busy\"}", "must not be empty" },
		{ "{\"check\":\"c\",\"subject\":\"\",\"state\":\"busy\"}", "must not be empty" },
		{ "{\"check\":\"c\",\"state\":\"busy\"}", "line 1: subject: missing" },
		{ "{\"check\":\"c\",\"subject\":\"s\"}", "line 1: state: missing" },
		{ "{\"check\":\"c\",\"subject\":\"s\",\"state\":\"fine\"}",
		  "'fine' is not one of measured, busy, foreign-traffic, set-up, timeout, "
		  "aborted" },
		{ "{" MEASURED ",\"value\":1}", "a value without a unit" },
		{ "{" MEASURED ",\"value\":\"1\",\"unit\":\"1\"}",
		  "line 1: value: expected a number" },
		{ "{\"check\":\"c\",\"subject\":\"s\",\"state\":\"busy\",\"value\":1,\"unit\":"
		  "\"1\"}",
		  "value and ok must be null in state busy" },
		{ "{\"check\":\"c\",\"subject\":\"s\",\"state\":\"timeout\",\"ok\":false}",
		  "value and ok must be null in state timeout" },
		{ "{" MEASURED ",\"v\":2}", "line 1: v: expected 1" },
		{ "{" MEASURED ",\"v\":\"1\"}", "line 1: v: expected 1" },
		{ "{" MEASURED ",\"better\":\"more\"}",
		  "'more' is not one of higher, lower, none" },
		{ "{" MEASURED ",\"severity\":\"bad\"}", "line 1: severity: " },
		{ "{" MEASURED ",\"params\":[]}", "line 1: params: expected an object" },
		{ "{" MEASURED ",\"path\":[1]}", "line 1: path[0]: expected a string" },
		{ "{" MEASURED ",\"n\":-1}", "line 1: n: -1 is negative" },
		{ "{" MEASURED ",\"n\":1.5}", "line 1: n: 1.5 is not a whole number" },
		{ "{" MEASURED ",\"w\":[1,2,3,\"4\"]}", "line 1: w[3]: expected a number" },
		{ "{" MEASURED
		  ",\"w\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}",
		  "line 1: w: 33 numbers, more than 32" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(sample_release) struct sample s = sample_init();
		struct err err = ERR_INIT;

		CHECK_EQ(read_sample(cases[i].text, &s, &err), -EINVAL);
		CHECK(!s.check);
		CHECK_HAS(err.msg, cases[i].sentence);
	}
}

static void keys_of_tomorrow_are_ignored(void)
{
	CLEANUP(sample_release) struct sample s = sample_init();

	CHECK_EQ(read_sample("{\"v\":1," MEASURED ",\"colour\":[1,{}]}", &s, NULL), 0);
	CHECK(isnan(s.value));
	CHECK_EQ(s.ok, TRI_UNKNOWN);
	CHECK_EQ(s.severity, SEVERITY_FAIL);
}

static void windows_give_the_median_and_the_spread(void)
{
	static const double values[] = { 4, 1, 3, 2, 10 };
	CLEANUP(sample_release) struct sample s = sample_init();

	sample_set_windows(&s, values, ARRAY_SIZE(values));
	CHECK_NEAR(s.value, 3, 0);
	CHECK_NEAR(s.p50, 3, 0);
	CHECK_NEAR(s.min, 1, 0);
	CHECK_NEAR(s.max, 10, 0);
	CHECK_NEAR(s.p99, 9.76, 1e-12);
	/* Squares of the distances from 4: 0, 9, 1, 4, 36. */
	CHECK_NEAR(s.stddev, sqrt(50.0 / 4), 1e-12);
	CHECK_EQ(s.n, 5);
	CHECK_EQ(s.w.n, 5);
	CHECK_NEAR(s.w.v[0], 4, 0);
	CHECK_NEAR(s.w.v[4], 10, 0);
}

static void one_window_has_no_spread(void)
{
	static const double value = 7;
	CLEANUP(sample_release) struct sample s = sample_init();

	sample_set_windows(&s, &value, 1);
	CHECK_NEAR(s.value, 7, 0);
	CHECK_NEAR(s.p99, 7, 0);
	CHECK(isnan(s.stddev));
	CHECK_EQ(s.w.n, 1);
}

static void many_windows_are_averaged_in_order(void)
{
	CLEANUP(sample_release) struct sample s = sample_init();
	double values[1000], sum = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(values); i++)
		values[i] = (double)i;
	sample_set_windows(&s, values, ARRAY_SIZE(values));
	sample_set_windows(&s, values, ARRAY_SIZE(values)); /* again: nothing leaks */
	CHECK_EQ(s.n, 1000);
	CHECK_EQ(s.w.n, SAMPLE_WINDOWS_MAX);
	for (i = 1; i < s.w.n; i++)
		CHECK(s.w.v[i] > s.w.v[i - 1]);
	/* Groups of 31 and 32 that cover all of it: the mean stays near. */
	for (i = 0; i < s.w.n; i++)
		sum += s.w.v[i];
	CHECK_NEAR(sum / (double)s.w.n, 499.5, 0.5);
}

static void check_report_refused(const char *text, const char *sentence)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct report r = { 0 };
	struct err err = ERR_INIT;
	struct jval root;

	CHECK_EQ(json_parse(text, strlen(text), "x", &value, &err), 0);
	root = jval_root(value, "r.json");
	CHECK_EQ(report_decode(&root, &r, &err), -EINVAL);
	CHECK(!r.node);
	CHECK_HAS(err.msg, sentence);
}

#define HEAD                                                                                      \
	"{\"v\":1,\"kind\":\"report\",\"node\":\"n\",\"boot_id\":\"b\",\"seq\":1,\"time\":\"t\"," \
	"\"profile\":\"quick\""

static void what_is_no_report_is_refused_with_its_place(void)
{
	check_report_refused("[]", "r.json: expected an object, not a list");
	check_report_refused("{}", "r.json: kind: expected \"report\"");
	check_report_refused("{\"kind\":\"report\"}", "r.json: v: expected 1");
	check_report_refused("{\"v\":2,\"kind\":\"report\"}", "r.json: v: expected 1");
	check_report_refused("{\"v\":1,\"kind\":\"report\"}", "r.json: node: missing");
	check_report_refused(HEAD ",\"samples\":{}}", "r.json: samples: expected a list");
	check_report_refused(HEAD ",\"samples\":[{}]}", "r.json: samples[0].check: missing");
	check_report_refused(HEAD ",\"samples\":[{" MEASURED "},{" MEASURED ",\"value\":1}]}",
			     "r.json: samples[1]: a value without a unit");
	check_report_refused(HEAD ",\"problems\":[{\"probe\":\"p\",\"code\":\"tired\"}]}",
			     "r.json: problems[0].code: 'tired' is not one of timeout, ");
	check_report_refused(HEAD ",\"problems\":[{\"code\":\"busy\"}]}",
			     "r.json: problems[0].probe: missing");
}

static struct report example(void)
{
	struct report r = {
		.node = xstrdup("node-1"),
		.boot_id = xstrdup("b"),
		.seq = 7,
		.time = xstrdup("2026-11-21T01:30:00.000Z"),
		.profile = xstrdup("quick"),
		.agent = xstrdup("0.1.0"),
		.env = json_pack("{s:s}", "kernel", "6.1"),
		.duration_s = 12.5,
	};
	struct sample s = sample_init();
	struct problem p = { .probe = xstrdup("gemm"),
			     .code = PROBLEM_TIMEOUT,
			     .err_tail = xstrdup("last words\n") };

	s.check = xstrdup("gemm.rate");
	s.subject = xstrdup("cpu:0");
	s.value = 79.1e9;
	s.unit = xstrdup("FLOP/s");
	CHECK_EQ(report_add_sample(&r, &s), 0);
	CHECK(!s.check);
	report_add_problem(&r, &p);
	CHECK(!p.probe);
	return r;
}

static void reports_go_round(void)
{
	CLEANUP(report_release) struct report r = example();
	CLEANUP(report_release) struct report back = { 0 };
	CLEANUP(json_freep) json_t *first = report_encode(&r);
	CLEANUP(json_freep) json_t *second = NULL;
	struct jval root = jval_root(first, "r");

	CHECK_EQ(report_decode(&root, &back, NULL), 0);
	CHECK_EQ(back.seq, 7);
	CHECK_EQ(back.n_samples, 1);
	CHECK_EQ(back.n_problems, 1);
	CHECK_STR(back.problems[0].err_tail, "last words\n");
	second = report_encode(&back);
	CHECK(json_equal(first, second));
	CHECK(json_is_null(json_object_get(first, "sku")));
	CHECK(json_is_null(json_object_get(first, "topology")));
	CHECK(!json_object_get(first, "order"));
}

static void a_problem_has_all_its_keys(void)
{
	const struct problem p = { .probe = (char[]){ "gemm" }, .code = PROBLEM_EMPTY };
	CLEANUP(json_freep) json_t *value = problem_encode(&p);
	CLEANUP(freep) char *line = json_line(value);

	CHECK_STR(line, "{\"probe\":\"gemm\",\"code\":\"empty\",\"detail\":\"\",\"stderr\":\"\"}");
}

static void a_report_holds_so_many_samples(void)
{
	CLEANUP(report_release) struct report r = example();
	CLEANUP(report_release) struct report back = { 0 };
	CLEANUP(json_freep) json_t *value = NULL;
	struct sample s = sample_init();
	struct err err = ERR_INIT;
	struct jval root;

	while (r.n_samples < SAMPLE_COUNT_MAX) {
		s.check = xstrdup("c");
		s.subject = xstrdup("s");
		if (report_add_sample(&r, &s) < 0)
			break;
	}
	CHECK_EQ(r.n_samples, SAMPLE_COUNT_MAX);
	s.check = xstrdup("c");
	CHECK_EQ(report_add_sample(&r, &s), -E2BIG);
	CHECK_STR(s.check, "c");
	sample_release(&s);
	value = report_encode(&r);
	root = jval_root(value, "r");
	CHECK_EQ(report_decode(&root, &back, &err), 0);
	json_array_append(json_object_get(value, "samples"),
			  json_array_get(json_object_get(value, "samples"), 0));
	CHECK_EQ(report_decode(&root, &back, &err), -EINVAL);
	CHECK_HAS(err.msg, "r: samples: 4097 samples, more than 4096");
	CHECK_EQ(back.n_samples, SAMPLE_COUNT_MAX);
}

static void the_environment_of_a_rank_says_its_job_and_run(void)
{
	static const struct {
		const char *job, *cluster, *id, *name;
	} jobs[] = {
		{ "a/b", "c1", "77", "a/b" }, { NULL, "c1", "77", "slurm:c1/77" },
		{ "", "", "77", "slurm:77" }, { "", NULL, "77", "slurm:77" },
		{ NULL, "c1", NULL, NULL },   { "", "", "", NULL },
	};
	static const struct {
		const char *run, *restarts;
		int64_t number;
	} runs[] = {
		{ "3", "5", 3 },	{ NULL, "5", 6 },      { "", "0", 1 },
		{ NULL, NULL, 0 },	{ "x", "", 0 },	       { "1000000", NULL, 1000000 },
		{ "1000001", NULL, 0 }, { "1000001", "2", 3 }, { NULL, "999999", 1000000 },
		{ NULL, "1000000", 0 }, { "0", NULL, 0 },      { "-1", NULL, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(jobs); i++) {
		CLEANUP(freep)
		char *name = rank_env_job(jobs[i].job, jobs[i].cluster, jobs[i].id);

		CHECK(streq(name, jobs[i].name));
	}
	for (i = 0; i < ARRAY_SIZE(runs); i++)
		CHECK_EQ(rank_env_run(runs[i].run, runs[i].restarts), runs[i].number);
	CHECK_EQ(rank_env_number("99999999999999999999", INT64_MAX), -1);
}

static const struct test tests[] = {
	TEST(samples_go_round),
	TEST(what_is_no_sample_is_refused_with_its_place),
	TEST(keys_of_tomorrow_are_ignored),
	TEST(windows_give_the_median_and_the_spread),
	TEST(one_window_has_no_spread),
	TEST(many_windows_are_averaged_in_order),
	TEST(what_is_no_report_is_refused_with_its_place),
	TEST(reports_go_round),
	TEST(a_problem_has_all_its_keys),
	TEST(a_report_holds_so_many_samples),
	TEST(the_environment_of_a_rank_says_its_job_and_run),
};

TEST_SUITE(tests);
