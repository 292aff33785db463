/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/summary.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define SUSPECT                                                                                \
	"{\"hosts\":[\"gpu-2\",\"gpu-1\"],\"dp\":3,\"stage\":1,\"ranks\":[8,15],\"class\":"    \
	"\"compute\",\"share\":{\"value\":0.9,\"low\":0.8,\"high\":1},\"alone\":{\"value\":"   \
	"0.9,\"low\":null,\"high\":null},\"gain\":null,\"identifiable\":true,\"counts\":true," \
	"\"tomorrow\":1}"
#define SUMMARY_OF(steps, ranks, class, suspects, heat)                                         \
	"{\"format\":\"assay-attribution-summary/1\",\"steps\":" steps ",\"ranks\":" ranks      \
	",\"hosts\":2,\"step_s\":0.5,\"slowdown\":{\"value\":1.09,\"low\":1.07,\"high\":1.11}," \
	"\"cause\":\"worker\",\"class\":\"" class "\",\"enough\":true,\"suspects\":[" suspects  \
						  "],\"heat\":" heat                            \
						  ",\"sentence\":\"gpu-1 is slow\"}"
#define HEAT \
	"{\"rows\":1,\"columns\":2,\"row\":\"dp\",\"column\":\"stage\",\"values\":[[1.5,null]]}"

static json_t *read_good(const char *text)
{
	struct err err = ERR_INIT;
	json_t *summary = NULL;

	CHECK_EQ(summary_read(text, &summary, &err), 0);
	CHECK_STR(err.msg, "");
	return summary;
}

static const char *text_of(const json_t *summary, const char *key)
{
	return json_string_value(json_object_get(summary, key));
}

static void what_was_found_is_read_and_the_rest_left_out(void)
{
	CLEANUP(json_freep)
	json_t *summary = read_good(SUMMARY_OF("64", "16", "compute", SUSPECT, HEAT));
	const json_t *suspect = json_array_get(json_object_get(summary, "suspects"), 0);

	CHECK_STR(text_of(summary, "suspect"), "gpu-1,gpu-2"); /* in order */
	CHECK_STR(text_of(summary, "cause"), "compute");
	CHECK_NEAR(json_number_value(json_object_get(summary, "slowdown")), 1.09, 1e-9);
	CHECK_NEAR(json_number_value(json_object_get(summary, "slowdown_high")), 1.11, 1e-9);
	CHECK_EQ(json_integer_value(json_array_get(json_object_get(suspect, "ranks"), 1)), 15);
	CHECK(!json_object_get(suspect, "tomorrow"));
	CHECK(json_is_object(json_object_get(summary, "heat")));
}

static void a_cause_is_a_word(void)
{
	static const char whole[] = SUMMARY_OF("64", "16", "job", SUSPECT, HEAT);
	static const char word[] = "\"worker\"";
	const char *at = strstr(whole, word);
	CLEANUP(freep)
	char *text = xasprintf("%.*s\"%0*d\"%s", (int)(at - whole), whole, SUMMARY_CAUSE_MAX + 1, 0,
			       at + strlen(word));
	json_t *summary = NULL;
	struct err err = ERR_INIT;

	CHECK_EQ(summary_read(text, &summary, &err), -EINVAL);
	CHECK_STR(err.msg, "summary: cause: is longer than 40 bytes");
}

static void a_cause_is_the_class_of_hosts_and_the_label_of_jobs(void)
{
	static const struct {
		const char *text, *cause;
	} rows[] = {
		{ SUMMARY_OF("9", "2", "none", "", "null"), NULL },
		{ SUMMARY_OF("9", "2", "job", "", "null"), "worker" },
		{ SUMMARY_OF("9", "2", "link", "", "null"), "link" },
		{ SUMMARY_OF("9", "2", "unclear", "", "null"), "unclear" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(json_freep) json_t *summary = read_good(rows[i].text);

		CHECK_STR(text_of(summary, "cause"), rows[i].cause);
		CHECK(json_is_null(json_object_get(summary, "suspect")));
	}
}

static void a_worker_without_hosts_has_a_name_too(void)
{
	CLEANUP(json_freep)
	json_t *one = json_pack("{s:i, s:i, s:[]}", "dp", 3, "stage", 1, "hosts");
	CLEANUP(freep) char *name = summary_suspect_name(one);

	CHECK_STR(name, "dp 3 stage 1");
}

static void what_cannot_be_is_refused_with_its_place(void)
{
	static const struct {
		const char *text, *words;
		int r;
	} rows[] = {
		{ "", "summary", -EINVAL },
		{ "[]", "expected an object", -EINVAL },
		{ "{}", "format", -EINVAL },
		{ SUMMARY_OF("64", "16", "haunted", "", "null"), "class", -EINVAL },
		{ SUMMARY_OF("-1", "16", "none", "", "null"), "steps", -EINVAL },
		{ SUMMARY_OF("1e999", "16", "none", "", "null"), "", -EINVAL },
		{ SUMMARY_OF("64", "16385", "none", "", "null"), "16385 ranks", -ERANGE },
		{ SUMMARY_OF("64", "16", "compute", SUSPECT "," SUSPECT "," SUSPECT "," SUSPECT,
			     "null"),
		  "suspects: has more than 3", -EINVAL },
		{ SUMMARY_OF("64", "16", "compute",
			     "{\"hosts\":[\"../etc\"],\"class\":\"compute\",\"counts\":true}",
			     "null"),
		  "suspects[0].hosts", -EINVAL },
		{ SUMMARY_OF("64", "16", "compute",
			     "{\"hosts\":[],\"ranks\":[0,99999],\"class\":\"compute\",\"counts\":"
			     "true}",
			     "null"),
		  "suspects[0].ranks", -EINVAL },
		{ SUMMARY_OF("64", "16", "none", "",
			     "{\"row\":\"dp\",\"column\":\"stage\",\"values\":[[1],[1,2]]}"),
		  "heat", -EINVAL },
		{ SUMMARY_OF("64", "16", "none", "",
			     "{\"row\":\"<b>\",\"column\":\"stage\",\"values\":[[1]]}"),
		  "heat", -EINVAL },
		{ SUMMARY_OF("64", "16", "none", "",
			     "{\"row\":\"dp\",\"column\":\"stage\",\"values\":[[-1]]}"),
		  "heat", -EINVAL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = ERR_INIT;
		json_t *summary = NULL;

		CHECK_EQ(summary_read(rows[i].text, &summary, &err), rows[i].r);
		CHECK(strstr(err.msg, rows[i].words) != NULL);
		CHECK(!summary);
	}
}

#define LATE_OF(most, slowest, links, stalls)                                                      \
	"{\"format\":\"assay-attribution-summary/1\",\"steps\":9,\"ranks\":16,\"slowdown\":null,"  \
	"\"class\":\"none\",\"enough\":true,\"sentence\":\"\",\"lateness\":{\"told\":true,"        \
	"\"slowest\":" slowest ",\"good_most\":" most ",\"links\":[" links "],\"stalls\":[" stalls \
	"],\"sentence\":"                                                                          \
	"\"forged\",\"tomorrow\":1}}"
#define LATE(slowest, links, stalls) LATE_OF("0.25", slowest, links, stalls)
#define LATE_PLACE(host) "\"hosts\":[\"" host "\"],\"dp\":1,\"stage\":0,\"ranks\":[4,4]"
#define LATE_RANK(excess, out)                                                                    \
	"{" LATE_PLACE("gpu-1") ",\"excess\":" excess ",\"late_s\":0.05,\"wait_s\":0,\"last\":9," \
				"\"collectives\":10,\"stands_out\":" out "}"
#define LATE_LINK(host)                                         \
	"{\"from\":{" LATE_PLACE(host) "},\"to\":{" LATE_PLACE( \
		"gpu-2") "},\"transfers\":9,"                   \
			 "\"transfer_s\":0.002,\"usual_s\":0.001}"
#define LATE_HOSTS "\"gpu-1\",\"gpu-2\",\"gpu-3\",\"gpu-4\",\"gpu-5\",\"gpu-6\""
#define LATE_STALL "{" LATE_PLACE("gpu-3") ",\"step\":30,\"seconds\":2}"

static void who_comes_late_is_read_and_said_in_our_own_words(void)
{
	static const struct {
		const char *text, *sentence;
	} rows[] = {
		{ LATE("null", "", ""), "No rank is late because of its own work, no link is slow, "
					"and no rank stalled." },
		{ LATE_OF("null", "null", "", ""), "No rank is late because of its own work, no "
						   "link is slow, and no rank stalled." },
		{ LATE(LATE_RANK("0.3", "true"), "", ""),
		  "Slowest in its own work: rank 4 on gpu-1, 30.0 % longer than ranks with the "
		  "same "
		  "work, arriving 0.05 s a step after the median rank; healthy ranks are at most "
		  "25.0 % slower." },
		{ LATE(LATE_RANK("0.03", "false"), "", ""),
		  "Slowest in its own work: rank 4 on gpu-1, 3.0 % longer than ranks with the same "
		  "work, arriving 0.05 s a step after the median rank; healthy ranks are up to "
		  "25.0 % slower, so this blames no rank." },
		{ LATE("null", "",
		       "{\"hosts\":[" LATE_HOSTS "],\"ranks\":[8,15],\"step\":30,\"seconds\":2}"),
		  "Stalled: ranks 8 to 15 on gpu-1, gpu-2, gpu-3, gpu-4 and 2 more, for "
		  "2 s in step 30." },
		{ LATE(LATE_RANK("0.003", "false"), LATE_LINK("gpu-1"), LATE_STALL),
		  "The link from rank 4 on gpu-1 to rank 4 on gpu-2 is slow: 0.002 s a transfer, "
		  "against 0.001 s between the same stages of the other replicas. Stalled: rank 4 "
		  "on gpu-3, for 2 s in step 30." },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(json_freep) json_t *summary = read_good(rows[i].text);
		const json_t *late = json_object_get(summary, "lateness");

		CHECK_STR(text_of(late, "sentence"), rows[i].sentence);
		CHECK(!json_object_get(late, "tomorrow"));
	}
}

static void who_comes_late_and_cannot_be_is_refused_with_its_place(void)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ LATE(LATE_RANK("-1", "true"), "", ""), "lateness.slowest.excess" },
		{ LATE("{}", "", ""), "lateness.slowest.ranks" },
		{ LATE("null", LATE_LINK("../etc"), ""), "lateness.links[0].from.hosts" },
		{ LATE("null", "{}", ""), "lateness.links[0].from" },
		{ LATE("null", "", "{\"ranks\":null}"), "lateness.stalls[0]" },
		{ LATE("null",
		       LATE_LINK("a") "," LATE_LINK("a") "," LATE_LINK("a") "," LATE_LINK("a") "," LATE_LINK(
			       "a") "," LATE_LINK("a") "," LATE_LINK("a") "," LATE_LINK("a") "," LATE_LINK("a"),
		       ""),
		  "lateness.links: has more than 8" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = ERR_INIT;
		json_t *summary = NULL;

		CHECK_EQ(summary_read(rows[i].text, &summary, &err), -EINVAL);
		CHECK(strstr(err.msg, rows[i].words) != NULL);
		CHECK(!summary);
	}
}

/* All ranks where they are said, else all between the first and the last. */
static void ranks_are_spans(void)
{
	static const struct {
		const char *keys;
		size_t n;
		int64_t spans[2][2];
		const char *words; /* of the refusal; NULL: it is none */
	} rows[] = {
		{ "\"ranks\":[8,15]", 1, { { 8, 15 } }, NULL },
		{ "\"ranks\":[8,31],\"rank_spans\":[[8,15],[24,31]]",
		  2,
		  { { 8, 15 }, { 24, 31 } },
		  NULL },
		{ "\"ranks\":[8,31],\"rank_spans\":null", 1, { { 8, 31 } }, NULL },
		{ "\"rank_spans\":[[7,7]]", 1, { { 7, 7 } }, NULL },
		{ "\"dp\":1", 0, { { 0, 0 } }, NULL },
		{ "\"ranks\":[9,8]", 0, { { 0, 0 } }, NULL },
		{ "\"rank_spans\":[]", 0, { { 0, 0 } }, "expected 1 to 1024 spans" },
		{ "\"rank_spans\":{}", 0, { { 0, 0 } }, "expected 1 to 1024 spans" },
		{ "\"rank_spans\":[8,15]", 0, { { 0, 0 } }, "rank_spans: span 0" },
		{ "\"rank_spans\":[[0,7],[7,9]]", 0, { { 0, 0 } }, "span 1: expected the first" },
		{ "\"rank_spans\":[[0,7],[9,8]]", 0, { { 0, 0 } }, "span 1" },
		{ "\"rank_spans\":[[0,16384]]", 0, { { 0, 0 } }, "span 0" },
		{ "\"rank_spans\":[[-1,3]]", 0, { { 0, 0 } }, "span 0" },
		{ "\"rank_spans\":[[0.5,3]]", 0, { { 0, 0 } }, "span 0" },
	};
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep)
		char *text = xasprintf(
			SUMMARY_OF(
				"64", "64", "compute",
				"{\"hosts\":[\"gpu-1\"],%s,\"class\":\"compute\",\"counts\":true}",
				"null"),
			rows[i].keys);
		CLEANUP(json_freep) json_t *summary = NULL;
		struct err err = ERR_INIT;
		int64_t spans[SUMMARY_SPANS_MAX][2];

		CHECK_EQ(summary_read(text, &summary, &err), rows[i].words ? -EINVAL : 0);
		if (rows[i].words) {
			CHECK(strstr(err.msg, rows[i].words) != NULL);
			continue;
		}
		CHECK_EQ(summary_ranks(json_array_get(json_object_get(summary, "suspects"), 0),
				       spans),
			 rows[i].n);
		for (j = 0; j < rows[i].n; j++) {
			CHECK_EQ(spans[j][0], rows[i].spans[j][0]);
			CHECK_EQ(spans[j][1], rows[i].spans[j][1]);
		}
	}
}

static void how_fast_a_suspect_is_is_kept_and_need_not_be_known(void)
{
	static const struct {
		const char *speed, *read; /* NULL: refused */
	} rows[] = {
		{ ",\"speed\":{\"now\":0.875,\"tested\":1.0}", "{\"now\":0.875,\"tested\":1.0}" },
		{ ",\"speed\":{\"now\":0.875,\"tested\":null}", "{\"now\":0.875,\"tested\":null}" },
		{ ",\"speed\":{}", "{\"now\":null,\"tested\":null}" },
		{ ",\"speed\":null", "{\"now\":null,\"tested\":null}" },
		{ "", "{\"now\":null,\"tested\":null}" },
		{ ",\"speed\":{\"now\":-1}", NULL },
		{ ",\"speed\":{\"now\":\"fast\"}", NULL },
		{ ",\"speed\":{\"tested\":1e9}", NULL },
		{ ",\"speed\":0.9", NULL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep)
		char *text = xasprintf(
			SUMMARY_OF(
				"64", "64", "compute",
				"{\"hosts\":[\"gpu-1\"],\"class\":\"compute\",\"counts\":true%s}",
				"null"),
			rows[i].speed);
		CLEANUP(json_freep) json_t *summary = NULL;
		CLEANUP(freep) char *speed = NULL;
		struct err err = ERR_INIT;

		CHECK_EQ(summary_read(text, &summary, &err), rows[i].read ? 0 : -EINVAL);
		if (!rows[i].read) {
			CHECK(strstr(err.msg, "suspects[0].speed") != NULL);
			continue;
		}
		speed = json_line(json_object_get(
			json_array_get(json_object_get(summary, "suspects"), 0), "speed"));
		CHECK_STR(speed, rows[i].read);
	}
}

static const struct test tests[] = {
	TEST(how_fast_a_suspect_is_is_kept_and_need_not_be_known),
	TEST(who_comes_late_is_read_and_said_in_our_own_words),
	TEST(who_comes_late_and_cannot_be_is_refused_with_its_place),
	TEST(ranks_are_spans),
	TEST(what_was_found_is_read_and_the_rest_left_out),
	TEST(a_cause_is_a_word),
	TEST(a_cause_is_the_class_of_hosts_and_the_label_of_jobs),
	TEST(a_worker_without_hosts_has_a_name_too),
	TEST(what_cannot_be_is_refused_with_its_place),
};

TEST_SUITE(tests);
