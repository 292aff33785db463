/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/opinion.h"

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define NOW UINT64_C(1795224600000000)

static json_t *host(const char *verdict)
{
	return json_pack("{s:s, s:s}", "verdict", verdict, "sentence", "what the runs say");
}

static json_t *incident(const char *level, bool fatal, const char *action, const char *sentence)
{
	return json_pack("{s:s, s:b, s:s, s:s}", "verdict", level, "fatal", (int)fatal, "action",
			 action, "sentence", sentence);
}

/* Of a host with at most two incidents, both may be NULL; takes them. */
static json_t *made(const char *verdict, json_t *one, json_t *two, const char *cordoned)
{
	CLEANUP(json_freep) json_t *node = host(verdict);
	CLEANUP(json_freep) json_t *incidents = json_array();

	if (one)
		(void)json_array_append_new(incidents, one);
	if (two)
		(void)json_array_append_new(incidents, two);
	return opinion_make(&(struct opinion_input){ .node = node,
						     .incidents = incidents,
						     .cordoned = cordoned,
						     .policy = "p1" },
			    NOW);
}

static const char *says(const json_t *opinion, const char *key)
{
	return json_string_value(json_object_get(opinion, key));
}

static void runs_alone_are_never_bad(void)
{
	static const char *const rows[][2] = {
		{ "pass", "pass" },
		{ "warn", "warn" },
		{ "fail", "warn" },
		{ "inconclusive", "inconclusive" },
		{ "no such word", "inconclusive" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(json_freep) json_t *o = made(rows[i][0], NULL, NULL, NULL);

		CHECK_STR(says(o, "verdict"), rows[i][1]);
		CHECK_STR(says(o, "sentence"), "what the runs say");
		CHECK_STR(says(o, "policy"), "p1");
		CHECK_STR(says(o, "expires"), "2026-11-21T02:30:00.000Z");
	}
}

static void a_host_that_joined_is_doubted_until_it_has_passed(void)
{
	static const struct {
		const char *verdict, *cordoned, *let_in, *said;
	} rows[] = {
		{ "pass", NULL, NULL, "warn" },	      { "inconclusive", NULL, NULL, "warn" },
		{ "fail", NULL, NULL, "warn" },	      { "pass", "incident 7", NULL, "fail" },
		{ "pass", NULL, "too many", "pass" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(json_freep) json_t *node = host(rows[i].verdict);
		CLEANUP(json_freep) json_t *none = json_array();
		CLEANUP(json_freep) json_t *o = NULL;
		const struct opinion_input in = { .node = node,
						  .incidents = none,
						  .cordoned = rows[i].cordoned,
						  .let_in = rows[i].let_in,
						  .policy = "p1" };

		(void)json_object_set_new(node, "unverified", json_true());
		o = opinion_make(&in, NOW);
		CHECK_STR(says(o, "verdict"), rows[i].said);
		if (!rows[i].cordoned && !rows[i].let_in && !streq(rows[i].verdict, "fail"))
			CHECK_STR(says(o, "sentence"),
				  "it has joined but not yet passed a quick or full run");
	}
}

static void only_a_host_that_is_out_of_service_is_bad(void)
{
	static const struct {
		const char *cordoned, *verdict, *sentence;
	} rows[] = {
		{ NULL, "warn", "a gpu lies" },
		{ "incident 7: a gpu lies", "fail", "cordoned: incident 7: a gpu lies" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(json_freep)
		json_t *o = made("fail", incident("fail", true, "cordon", "a gpu lies"), NULL,
				 rows[i].cordoned);

		CHECK_STR(says(o, "verdict"), rows[i].verdict);
		CHECK_STR(says(o, "sentence"), rows[i].sentence);
	}
}

static void a_good_host_that_a_person_took_out_is_bad(void)
{
	CLEANUP(json_freep) json_t *o = made("pass", NULL, NULL, "it is needed elsewhere");

	CHECK_STR(says(o, "verdict"), "fail");
	CHECK_STR(says(o, "sentence"), "cordoned: it is needed elsewhere");
}

static void the_worst_incident_speaks(void)
{
	CLEANUP(json_freep)
	json_t *level = made("fail", incident("warn", false, "retest", "slow"),
			     incident("fail", false, "retest", "slower"), NULL);
	CLEANUP(json_freep)
	json_t *fatal = made("fail", incident("fail", false, "cordon", "to be cordoned"),
			     incident("fail", true, "alert", "fatal"), NULL);

	CHECK_STR(says(level, "sentence"), "slower");
	CHECK_STR(says(fatal, "sentence"), "fatal");
}

static void a_host_that_shall_let_jobs_in_is_told_unless_it_is_out(void)
{
	CLEANUP(json_freep) json_t *node = host("fail");
	CLEANUP(json_freep) json_t *incidents = json_array();
	struct opinion_input in = { .node = node,
				    .incidents = incidents,
				    .let_in = "gpu.xid already keeps jobs off 3 nodes already",
				    .policy = "p1" };
	CLEANUP(json_freep) json_t *open = opinion_make(&in, NOW);
	CLEANUP(json_freep) json_t *out = NULL;

	CHECK_STR(says(open, "admit"), "degraded");
	CHECK_STR(says(open, "verdict"), "warn");
	CHECK_STR(says(open, "sentence"), in.let_in);
	in.cordoned = "incident 7";
	out = opinion_make(&in, NOW);
	CHECK(!says(out, "admit"));
	CHECK_STR(says(out, "sentence"), "cordoned: incident 7");
}

static void a_long_sentence_is_cut_between_characters(void)
{
	CLEANUP(freep) char *text = xcalloc(3001, 1);
	CLEANUP(json_freep) json_t *o = NULL;
	size_t i;

	for (i = 0; i + 2 < 3000; i += 3)
		memcpy(text + i, "\xe2\x82\xac", 3);
	o = made("fail", incident("fail", false, "retest", text), NULL, NULL);
	CHECK_EQ(strlen(says(o, "sentence")), 999);
}

static void a_host_is_told_when_it_changes_and_before_it_expires(void)
{
	CLEANUP(opinions_release) struct opinions o = { 0 };
	CLEANUP(json_freep) json_t *good = made("pass", NULL, NULL, NULL);
	CLEANUP(json_freep)
	json_t *bad = made("pass", incident("warn", false, "retest", "slow"), NULL, NULL);

	CHECK(opinions_due(&o, "a", good, 5));
	opinions_told(&o, "a", good, 5);
	CHECK(!opinions_due(&o, "a", good, 5));
	CHECK(opinions_due(&o, "b", good, 5));
	CHECK(opinions_due(&o, "a", bad, 5));
	CHECK(!opinions_due(&o, "a", good, 4 + OPINION_LIFE_US / 2));
	CHECK(opinions_due(&o, "a", good, 5 + OPINION_LIFE_US / 2));
	opinions_told(&o, "a", bad, 6);
	CHECK(opinions_due(&o, "a", good, 6));
	CHECK_EQ(o.n, 1);
	opinions_forget(&o, "a");
	opinions_forget(&o, "a");
	CHECK(opinions_due(&o, "a", bad, 6));
	CHECK_EQ(o.n, 0);
}

static const struct test tests[] = {
	TEST(runs_alone_are_never_bad),
	TEST(a_host_that_joined_is_doubted_until_it_has_passed),
	TEST(only_a_host_that_is_out_of_service_is_bad),
	TEST(a_host_that_shall_let_jobs_in_is_told_unless_it_is_out),
	TEST(a_good_host_that_a_person_took_out_is_bad),
	TEST(the_worst_incident_speaks),
	TEST(a_long_sentence_is_cut_between_characters),
	TEST(a_host_is_told_when_it_changes_and_before_it_expires),
};

TEST_SUITE(tests);
