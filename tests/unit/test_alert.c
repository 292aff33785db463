/* SPDX-License-Identifier: Apache-2.0 */
/* Alerts for operators, in Alertmanager's format. */
#include "controller/alerts/alert.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/policy.h"
#include "tests/unit/test.h"

static const struct alert_facts sick = {
	.kind = ALERT_INCIDENT,
	.severity = ALERT_WARNING,
	.node = "gpu-17",
	.check = "gemm.rate",
	.incident = 12,
	.since_us = 1000 * USEC_PER_SEC,
	.sentence = "gpu-17: gpu:3 runs at 0.7 of its peers",
	.clears = "clears after 3 more good runs in a row",
	.command = "assayctl why gpu-17",
	.path = "/v1/incidents/12",
};

#define SICK_LABELS(severity)                                                    \
	"{\"alertname\":\"AssayIncident\",\"check\":\"gemm.rate\",\"incident\":" \
	"\"12\",\"node\":\"gpu-17\",\"severity\":\"" severity "\"}"

static void labels_say_what_it_is_and_nothing_that_changes(void)
{
	static const struct {
		struct alert_facts facts;
		const char *labels;
	} rows[] = {
		{ { .kind = ALERT_SHARED,
		    .node = "sku:hgx-h100",
		    .check = "gemm.rate",
		    .incident = 4 },
		  "{\"alertname\":\"AssaySharedIncident\",\"check\":\"gemm.rate\",\"incident\":"
		  "\"4\","
		  "\"scope\":\"sku:hgx-h100\",\"severity\":\"info\"}" },
		{ { .kind = ALERT_CORDON, .severity = ALERT_WARNING, .node = "gpu-2" },
		  "{\"alertname\":\"AssayCordon\",\"node\":\"gpu-2\",\"severity\":\"warning\"}" },
		{ { .kind = ALERT_SLOW_JOB, .severity = ALERT_WARNING, .job = "research/llm-7" },
		  "{\"alertname\":\"AssaySlowJob\",\"job\":\"research/"
		  "llm-7\",\"namespace\":\"research\",\"severity\":"
		  "\"warning\"}" },
		{ { .kind = ALERT_STOPPED_JOB, .severity = ALERT_CRITICAL, .job = "4711" },
		  "{\"alertname\":\"AssayStoppedJob\",\"job\":\"4711\",\"severity\":"
		  "\"critical\"}" },
		{ { .kind = ALERT_BREAKER, .severity = ALERT_CRITICAL },
		  "{\"alertname\":\"AssayBreaker\",\"severity\":\"critical\"}" },
	};
	struct alert_facts later = sick;
	struct alert_set set = { .known = 0 };
	const struct alert *a;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		alert_set_add(&set, &rows[i].facts);
		CHECK(map_find(&set.map, rows[i].labels));
	}
	alert_set_release(&set);
	alert_set_add(&set, &sick);
	later.sentence = "gpu-17: gpu:3 runs at 0.6 of its peers";
	later.stale = "nothing was heard of it";
	alert_set_add(&set, &later);
	CHECK_EQ(set.map.n, 1);
	a = map_find(&set.map, SICK_LABELS("warning"));
	CHECK(a);
	CHECK_STR(json_string_value(json_object_get(a->annotations, "sentence")), later.sentence);
	CHECK_STR(json_string_value(json_object_get(a->annotations, "stale")), later.stale);
	alert_set_release(&set);
}

static bool is_critical(void *context UNUSED, const char *labels)
{
	return streq(labels, SICK_LABELS("critical"));
}

static void what_was_told_as_critical_stays_it(void)
{
	struct alert_set set = { .told = is_critical };

	alert_set_add(&set, &sick);
	CHECK(map_find(&set.map, SICK_LABELS("critical")));
	CHECK_EQ(set.map.n, 1);
	alert_set_release(&set);
}

static void what_is_left_out_is_not_over(void)
{
	struct alert_facts facts = sick;
	struct alert_set set = { .known = 0 };
	int64_t i;

	alert_set_know(&set, ALERT_INCIDENT);
	CHECK(alert_set_knows(&set, ALERT_INCIDENT));
	CHECK(!alert_set_knows(&set, ALERT_CORDON));
	for (i = 1; i <= ALERTS_MAX + 3; i++) {
		facts.incident = i;
		alert_set_add(&set, &facts);
	}
	CHECK_EQ(set.map.n, ALERTS_MAX);
	CHECK_EQ(set.left_out, 3);
	CHECK(!alert_set_knows(&set, ALERT_INCIDENT));
	alert_set_release(&set);
}

static void severity_follows_from_what_is_to_be_done(void)
{
	CHECK_EQ(alert_incident_severity(ACTION_ALERT, false), ALERT_WARNING);
	CHECK_EQ(alert_incident_severity(ACTION_RETEST, false), ALERT_WARNING);
	CHECK_EQ(alert_incident_severity(ACTION_CORDON, false), ALERT_CRITICAL);
	CHECK_EQ(alert_incident_severity(ACTION_CORDON_DRAIN, false), ALERT_CRITICAL);
	CHECK_EQ(alert_incident_severity(ACTION_ALERT, true), ALERT_CRITICAL);
	CHECK_EQ(alert_cordon_severity("assay"), ALERT_WARNING);
	CHECK_EQ(alert_cordon_severity("operator ann"), ALERT_INFO);
	CHECK_EQ(alert_cordon_severity(NULL), ALERT_INFO);
}

static void a_job_is_slow_until_a_window_says_less(void)
{
	static const struct {
		const char *state;
		double slowdown;
		bool told, slow;
	} rows[] = {
		{ "slow", 1.3, false, true },
		{ "suspected", 1.1, false, true },
		{ "owner informed", 1.5, false, true },
		{ "watched", 1.3, false, false },
		{ "watched", 1.3, true, true },
		{ "rejected", 1.3, true, true },
		{ "slow", 1.09, false, false },
		{ "slow", 1.09, true, false },
		{ "healthy", 1.0, true, false },
		{ "slow", NAN, true, false },
		{ NULL, 1.3, false, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(alert_job_is_slow(rows[i].state, rows[i].slowdown, rows[i].told),
			 rows[i].slow);
}

static void it_is_what_alertmanager_takes(void)
{
	CLEANUP(json_freep) json_t *annotations = json_pack("{s:s}", "sentence", "it is so");
	struct alert_post post = { .labels = SICK_LABELS("warning"),
				   .annotations = annotations,
				   .link = "https://assay/v1/incidents/12",
				   .since_us = 1800000000 * USEC_PER_SEC,
				   .until_us = 1800000000 * USEC_PER_SEC + ALERT_STAYS_US };
	json_t *value = alert_post_json(&post);

	CHECK_STR(json_string_value(json_object_get(value, "startsAt")),
		  "2027-01-15T08:00:00.000Z");
	CHECK_STR(json_string_value(json_object_get(value, "endsAt")), "2027-01-16T08:00:00.000Z");
	CHECK_STR(json_string_value(json_object_get(value, "generatorURL")), post.link);
	CHECK_STR(json_string_value(json_object_get(json_object_get(value, "labels"), "node")),
		  "gpu-17");
	CHECK_STR(json_string_value(json_object_get(json_object_get(value, "annotations"), "link")),
		  post.link);
	CHECK(!json_object_get(annotations, "link"));
	json_decref(value);
	/* A clock that went back. */
	post.until_us = post.since_us - 1;
	post.link = NULL;
	value = alert_post_json(&post);
	CHECK_STR(json_string_value(json_object_get(value, "endsAt")), "2027-01-15T08:00:00.000Z");
	CHECK(!json_object_get(value, "generatorURL"));
	json_decref(value);
	post.labels = "no JSON";
	CHECK(!alert_post_json(&post));
}

static void texts_are_cut_at_the_end_of_a_character(void)
{
	char text[ALERT_TEXT_MAX + 3];
	json_t *cut;

	memset(text, 'x', sizeof(text));
	memcpy(text + ALERT_TEXT_MAX - 1, "\xc3\xa4", 3);
	cut = alert_text(text);
	CHECK_EQ(json_string_length(cut), ALERT_TEXT_MAX - 1);
	json_decref(cut);
	cut = alert_text("broken \xff here");
	CHECK_STR(json_string_value(cut), "broken ");
	json_decref(cut);
}

static void the_kind_is_known_by_its_labels(void)
{
	int kind;

	for (kind = 0; kind < ALERT_KINDS; kind++) {
		json_t *labels = json_pack("{s:s}", "alertname", alert_names[kind]);

		CHECK_EQ(alert_kind_of(labels), kind);
		json_decref(labels);
	}
	CHECK_EQ(alert_kind_of(NULL), ALERT_KINDS);
}

static const struct test tests[] = {
	TEST(labels_say_what_it_is_and_nothing_that_changes),
	TEST(what_was_told_as_critical_stays_it),
	TEST(what_is_left_out_is_not_over),
	TEST(severity_follows_from_what_is_to_be_done),
	TEST(a_job_is_slow_until_a_window_says_less),
	TEST(it_is_what_alertmanager_takes),
	TEST(texts_are_cut_at_the_end_of_a_character),
	TEST(the_kind_is_known_by_its_labels),
};

TEST_SUITE(tests);
