/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "cli/change.h"
#include "cli/items.h"
#include "cli/job_words.h"
#include "cli/link.h"
#include "cli/link_words.h"
#include "cli/near.h"
#include "cli/request.h"
#include "cli/trace_file.h"
#include "cli/view.h"
#include "lib/base/distance.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define NOW_US (UINT64_C(1800000000) * USEC_PER_SEC)

static json_t *parse(const char *text)
{
	json_t *value = NULL;

	CHECK_EQ(json_parse(text, strlen(text), "test", &value, NULL), 0);
	return value;
}

static void names_are_near_by_edits_and_swaps(void)
{
	static const struct {
		const char *a, *b;
		unsigned distance;
	} cases[] = {
		{ "", "", 0 },
		{ "", "abc", 3 },
		{ "abc", "", 3 },
		{ "gpu-17", "gpu-17", 0 },
		{ "gpu-17", "gpu-71", 1 },
		{ "gpu-17", "gpu-7", 1 },
		{ "gpu-17", "gpu-018", 2 },
		{ "kitten", "sitting", 3 },
		{ "ca", "abc", 3 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_EQ(distance_between(cases[i].a, cases[i].b), cases[i].distance);
		CHECK_EQ(distance_between(cases[i].b, cases[i].a), cases[i].distance);
	}
}

static void the_nearest_names_come_first_and_far_ones_not_at_all(void)
{
	CLEANUP(json_freep)
	json_t *items = parse("[{\"node\":\"login\"},{\"node\":\"gpu-100\"},{\"node\":7},"
			      "{\"node\":\"gpu-01\"},{\"node\":\"gpu-10\"},{\"node\":\"gpu-11\"}]");
	CLEANUP(freep) char *near = near_names(items, "node", "gpu-10");
	CLEANUP(freep) char *none = near_names(items, "node", "storage");

	CHECK_STR(near, "gpu-10, gpu-100, gpu-01");
	CHECK_STR(none, "");
}

static void ages_use_a_unit_from_two_of_it_on(void)
{
	static const struct {
		double seconds;
		const char *age;
	} cases[] = {
		{ NAN, "-" },	      { -5, "now" },	     { 0, "now" },
		{ 1, "1s ago" },      { 119.9, "119s ago" }, { 120, "2m ago" },
		{ 7199, "119m ago" }, { 7200, "2h ago" },    { 172799, "47h ago" },
		{ 172800, "2d ago" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *age = age_of_seconds(cases[i].seconds);

		CHECK_STR(age, cases[i].age);
	}
}

static void a_stamp_in_the_future_or_none_at_all_is_no_age(void)
{
	char stamp[CLOCK_STAMP_SIZE];
	CLEANUP(freep) char *none = age_of_stamp("yesterday", NOW_US);
	CLEANUP(freep) char *past = NULL;
	CLEANUP(freep) char *future = NULL;

	clock_stamp(NOW_US - 3 * USEC_PER_HOUR, stamp);
	past = age_of_stamp(stamp, NOW_US);
	clock_stamp(NOW_US + 3 * USEC_PER_HOUR, stamp);
	future = age_of_stamp(stamp, NOW_US);
	CHECK_STR(none, "-");
	CHECK_STR(past, "3h ago");
	CHECK_STR(future, "now");
}

static void a_ratio_needs_something_to_compare_with(void)
{
	CLEANUP(freep) char *half = ratio(40, 80);
	CLEANUP(freep) char *none = ratio(40, NAN);
	CLEANUP(freep) char *zero = ratio(40, 0);

	CHECK_STR(half, "50 %");
	CHECK_STR(none, "-");
	CHECK_STR(zero, "-");
}

static void json_for_programs_is_the_same_value_without_control(void)
{
	CLEANUP(json_freep)
	json_t *value = parse("{\"a\":\"\xe2\x80\xae\\u001b\xf3\xa0\x81\x81\xc3\xa9\"}");
	CLEANUP(json_freep) json_t *again = NULL;
	CLEANUP(freep) char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	print_json(value, out, false);
	(void)fclose(out);
	CHECK_STR(text, "{\"a\":\"\\u202E\\u001B\\uDB40\\uDC41\xc3\xa9\"}\n");
	again = parse(text);
	CHECK(json_equal(value, again));
}

static void ages_and_stamps_are_no_change(void)
{
	CLEANUP(json_freep)
	json_t *a = parse("{\"items\":[{\"node\":\"a\",\"age_s\":1,\"seq\":1},{\"node\":\"b\"}]}");
	CLEANUP(json_freep)
	json_t *b = parse("{\"items\":[{\"node\":\"a\",\"age_s\":9,\"seq\":2},{\"node\":\"b\"}]}");
	CLEANUP(json_freep)
	json_t *c = parse("{\"items\":[{\"node\":\"a\",\"verdict\":\"fail\"},{\"node\":\"c\"}]}");
	CLEANUP(json_freep) json_t *d = parse("{\"items\":[{\"node\":\"a\"}]}");
	CLEANUP(json_freep) json_t *before = change_steady(&view_nodes, a);
	CLEANUP(json_freep) json_t *same = change_steady(&view_nodes, b);
	CLEANUP(json_freep) json_t *other = change_steady(&view_nodes, c);
	CLEANUP(json_freep) json_t *fewer = change_steady(&view_nodes, d);
	CLEANUP(json_freep) json_t *changed = change_find(before, other);
	CLEANUP(json_freep) json_t *gone = change_find(before, fewer);

	CHECK(change_find(before, same) == NULL);
	CHECK_EQ(json_object_size(changed), 2);
	CHECK(json_object_get(changed, "a") && json_object_get(changed, "c"));
	CHECK(gone && json_object_size(gone) == 0);
}

static void a_segment_of_a_path_is_nothing_else(void)
{
	CLEANUP(freep) char *plain = link_segment("gpu-17.rack_2~x");
	CLEANUP(freep) char *rude = link_segment("../a?b#c%\n\xc3\xa9");

	CHECK_STR(plain, "gpu-17.rack_2~x");
	CHECK_STR(rude, "..%2Fa%3Fb%23c%25%0A%C3%A9");
}

static void a_url_is_a_host_and_no_more(void)
{
	static const struct {
		const char *url, *base;
	} cases[] = {
		{ "http://h", "http://h" },
		{ "https://h:1/", "https://h:1" },
		{ "https://[::1]:9470", "https://[::1]:9470" },
		{ "h:9470", NULL },
		{ "ftp://h", NULL },
		{ "http://", NULL },
		{ "http:///x", NULL },
		{ "http://h/x", NULL },
		{ "http://h?x", NULL },
		{ "http://h#x", NULL },
		{ "", NULL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;
		CLEANUP(freep) char *base = NULL;
		int r = link_words_base(cases[i].url, &base, &err);

		CHECK_EQ(r, cases[i].base ? 0 : -EINVAL);
		CHECK_STR(base, cases[i].base);
		CHECK(r == 0 || starts_with(err.msg, "--controller: "));
	}
}

static int read_line(const char *const *words, struct request *ret, struct err *err)
{
	char *argv[8] = { NULL };
	int argc = 0, r;

	for (argc = 0; words[argc]; argc++)
		argv[argc] = xstrdup(words[argc]);
	r = request_parse(argc, argv, ret, err);
	while (argc > 0)
		free(argv[--argc]);
	return r;
}

static void an_interval_is_taken_only_when_it_reads_as_one(void)
{
	static const struct {
		const char *words[8];
		uint64_t watch_us;
		int r;
	} cases[] = {
		{ { "assayctl", "nodes", "--watch" }, 2 * USEC_PER_SEC, 0 },
		{ { "assayctl", "nodes", "--watch", "5s" }, 5 * USEC_PER_SEC, 0 },
		{ { "assayctl", "--watch", "nodes" }, 2 * USEC_PER_SEC, 0 },
		{ { "assayctl", "-w5s", "nodes" }, 5 * USEC_PER_SEC, 0 },
		{ { "assayctl", "why", "-w", "gpu-1" }, 2 * USEC_PER_SEC, 0 },
		{ { "assayctl", "why", "--watch=1m", "--", "5s" }, USEC_PER_MIN, 0 },
		{ { "assayctl", "why", "--watch", "5s" }, 0, -EINVAL },
		{ { "assayctl", "nodes", "--watch=" }, 0, -EINVAL },
		{ { "assayctl", "nodes", "--", "--watch" }, 0, -EINVAL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct request request = { 0 };
		struct err err = ERR_INIT;

		CHECK_EQ(read_line(cases[i].words, &request, &err), cases[i].r);
		CHECK_EQ(request.settings.watch_us, cases[i].watch_us);
		CHECK(cases[i].r == 0 || err.msg[0]);
	}
}

static void a_part_and_ages_are_two_numbers_each(void)
{
	static const struct {
		enum option_id id;
		const char *value;
		int r;
		double first, second;
	} cases[] = {
		{ OPTION_PART, "1/1", 0, 1, 1 },
		{ OPTION_PART, "16384/16384", 0, 16384, 16384 },
		{ OPTION_PART, "2/16385", -EINVAL, 0, 0 },
		{ OPTION_PART, "0/1", -EINVAL, 0, 0 },
		{ OPTION_PART, "2/1", -EINVAL, 0, 0 },
		{ OPTION_PART, "1/", -EINVAL, 0, 0 },
		{ OPTION_PART, "/1", -EINVAL, 0, 0 },
		{ OPTION_PART, "1/2/3", -EINVAL, 0, 0 },
		{ OPTION_PART, "1/99999999999999999999", -EINVAL, 0, 0 },
		{ OPTION_PART, "", -EINVAL, 0, 0 },
		{ OPTION_AGES, "930,12", 0, 930, 12 },
		{ OPTION_AGES, "930.25,0", 0, 930.25, 0 },
		{ OPTION_AGES, "5,5", 0, 5, 5 },
		{ OPTION_AGES, "12,930", -EINVAL, 0, 0 },
		{ OPTION_AGES, "9,8,7", -EINVAL, 0, 0 },
		{ OPTION_AGES, "inf,1", -EINVAL, 0, 0 },
		{ OPTION_AGES, "0x9,1", -EINVAL, 0, 0 },
		{ OPTION_AGES, "1.2.3,1", -EINVAL, 0, 0 },
		{ OPTION_AGES, " 9,8", -EINVAL, 0, 0 },
		{ OPTION_AGES, "99999999,1", -EINVAL, 0, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct settings s = settings_init();
		struct err err = ERR_INIT;
		bool part = cases[i].id == OPTION_PART;

		CHECK_EQ(option_set(&s, cases[i].id, cases[i].value, &err), cases[i].r);
		CHECK(cases[i].r == 0 || err.msg[0]);
		if (cases[i].r < 0) {
			CHECK(s.part.of == 0 && isnan(s.ages.first_s) && isnan(s.ages.last_s));
			continue;
		}
		CHECK_NEAR(part ? (double)s.part.k : s.ages.first_s, cases[i].first, 1e-9);
		CHECK_NEAR(part ? (double)s.part.of : s.ages.last_s, cases[i].second, 1e-9);
	}
}

static void what_can_be_no_trace_is_told_by_its_first_bytes(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *doubt; /* it begins so; NULL: none */
	} cases[] = {
		{ "\x1f\x8b\x00", 3, NULL },
		{ "\x28\xb5\x2f\xfd\x00", 5, NULL },
		{ "\x28\xb5\x2f", 3, NULL }, /* a short text in Latin-1, for all we know */
		{ "{\"type\":\"meta\"}", 15, NULL },
		{ "step,stage\r\n", 12, NULL },
		{ "PAR1", 4, "Parquet" },
		{ "a\0b", 3, "not a trace: neither" },
		{ " \n\t", 3, "not a trace: nothing" },
		{ "\n[{", 3, "a profile" },
		{ "{\"traceEvents\": [", 17, "a profile" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *doubt = trace_file_doubt(cases[i].bytes, cases[i].len);

		CHECK(cases[i].doubt ? doubt && starts_with(doubt, cases[i].doubt) : !doubt);
	}
}

static void a_number_of_a_job_has_its_interval(void)
{
	CLEANUP(freep) char *whole = job_words_interval(1.094, 1.07, 1.1149);
	CLEANUP(freep) char *half = job_words_interval(1.09, NAN, 1.11);
	CLEANUP(freep) char *none = job_words_interval(NAN, 1.07, 1.11);

	CHECK_STR(whole, "1.09 [1.07, 1.11]");
	CHECK_STR(half, "1.09");
	CHECK_STR(none, "-");
	CHECK(job_words_rank("suspected") < job_words_rank("owner informed"));
	CHECK(job_words_rank("waiting") < job_words_rank("healthy"));
	CHECK(job_words_rank("hung") < job_words_rank("stands still"));
	CHECK(job_words_rank("stands still") < job_words_rank("suspected"));
	/* What only a later controller knows wants somebody first. */
	CHECK_EQ(job_words_rank("cordoned"), job_words_rank("hung"));
}

static void every_command_is_whole(void)
{
	const struct command *c;

	for (c = commands; c->words[0]; c++) {
		CHECK(!c->view != !c->run);
		CHECK(c->summary && c->summary[0] && c->description);
		CHECK(c->hidden || c->examples[0].line);
		CHECK(!c->view || (c->options & OPTIONS_CALL) == OPTIONS_CALL);
		CHECK((c->needs & c->options) == c->needs);
		CHECK((c->view == &view_act) == (c->post != NULL));
		CHECK(c->argument.many == (c->done != NULL));
	}
}

static const struct test tests[] = {
	TEST(names_are_near_by_edits_and_swaps),
	TEST(the_nearest_names_come_first_and_far_ones_not_at_all),
	TEST(ages_use_a_unit_from_two_of_it_on),
	TEST(a_stamp_in_the_future_or_none_at_all_is_no_age),
	TEST(a_ratio_needs_something_to_compare_with),
	TEST(json_for_programs_is_the_same_value_without_control),
	TEST(ages_and_stamps_are_no_change),
	TEST(a_segment_of_a_path_is_nothing_else),
	TEST(a_url_is_a_host_and_no_more),
	TEST(an_interval_is_taken_only_when_it_reads_as_one),
	TEST(a_part_and_ages_are_two_numbers_each),
	TEST(what_can_be_no_trace_is_told_by_its_first_bytes),
	TEST(a_number_of_a_job_has_its_interval),
	TEST(every_command_is_whole),
};

TEST_SUITE(tests);
