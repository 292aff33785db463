/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/findings.h"

#include <stdlib.h>

#include "controller/rules.h"
#include "controller/store.h"
#include "lib/xalloc.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

static struct policy_rule two_of_three(void)
{
	return (struct policy_rule){ .name = xstrdup("slow"),
				     .check = xstrdup("gemm.*"),
				     .k = 2,
				     .n = 3,
				     .action = ACTION_RETEST };
}

/* Runs as text, oldest first: 'x' cpu:3 is slow, '.' all is well, '?' nothing was measured. */
static void play(struct store *s, const char *runs)
{
	struct rules rules = { .policy = policy_init() };
	struct rules_view view = { .rules = &rules };

	rules.policy.rules = xcalloc(1, sizeof(*rules.policy.rules));
	rules.policy.rules[0] = two_of_three();
	rules.policy.n_rules = 1;
	for (; *runs; runs++) {
		double cores[] = { 70, 71, 72, *runs == 'x' ? 20 : 70, 70, 71, 72, 70 };
		struct report report = report_make();

		report_put_cores(&report, cores, ARRAY_SIZE(cores));
		if (*runs == '?')
			report.samples[3].state = SAMPLE_BUSY;
		CHECK_EQ(findings_note(s, &view, judged(&report, NULL), 1000, NULL), 0);
		report_release(&report);
	}
	rules_release(&rules);
}

static void an_incident_opens_at_k_of_n_and_closes_after_n_good(void)
{
	static const struct {
		const char *runs;
		uint64_t open;
		const char *words; /* of the open one */
	} rows[] = {
		{ "", 0, NULL },
		{ "x", 0, NULL },
		{ ".....", 0, NULL },
		{ "x..x", 0, NULL },
		{ "xx", 1, "bad in 2 of the last 2 runs" },
		{ "x.x", 1, "bad in 2 of the last 3 runs" },
		{ "x?x", 1, "bad in 2 of the last 2 runs" },
		{ "xx..", 1, "cpu:3" },
		{ "xx??????", 1, "cpu:3" },
		{ "xx...", 0, NULL },
		{ "xx...x", 0, NULL },
		{ "xx...xx", 1, "bad in 2 of the last 2 runs" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *path = xasprintf("%s/%zu.db", test_dir(), i);
		CLEANUP(store_closep) struct store *s = NULL;
		CLEANUP(json_freep) json_t *open = NULL;
		uint64_t n = 99;

		CHECK_EQ(store_open(path, &s, NULL), 0);
		play(s, rows[i].runs);
		CHECK_EQ(store_count_incidents(s, &n, NULL), 0);
		CHECK_EQ(n, rows[i].open);
		CHECK_EQ(store_open_incidents(s, "host1", &open, NULL), 0);
		CHECK_EQ(json_array_size(open), rows[i].open);
		if (rows[i].words) {
			const json_t *incident = json_array_get(open, 0);
			const char *text = json_string_value(json_object_get(incident, "sentence"));

			CHECK_HAS(text, rows[i].words);
			CHECK_HAS(text, "host1: ");
			CHECK_STR(json_string_value(json_object_get(incident, "rule")), "slow");
			CHECK_STR(json_string_value(json_object_get(incident, "action")), "retest");
		}
	}
}

static const struct test tests[] = {
	TEST(an_incident_opens_at_k_of_n_and_closes_after_n_good),
};

int main(void)
{
	int r = TEST_MAIN("findings", tests);

	judged_done();
	return r;
}
