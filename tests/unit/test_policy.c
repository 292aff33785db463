/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/policy/policy.h"
#include "tests/unit/test.h"

static int decode(const char *yaml, struct policy *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *doc = NULL;
	struct jval root;
	int r = yaml_parse(yaml, strlen(yaml), "p.yaml", &doc, err);

	if (r < 0)
		return r;
	root = jval_root(doc, "p.yaml");
	return policy_decode(&root, ret, err);
}

/* Its numbers are those that hold without a file. */
static void check_built_in(const struct policy *p)
{
	const struct policy d = policy_init();
	const uint64_t got[] = { p->silent_after_us,   p->storm_cordons,     p->storm_per_us,
				 p->alike_nodes,       p->alike_per_us,	     p->retest_times,
				 p->retest_spacing_us, p->retest_timeout_us, p->retest_returns,
				 p->hold_ttl_us,       p->hold_at_once,	     p->coverage_max_age_us,
				 p->override_us,       p->release_delay_us,  p->release_passes,
				 p->sticky_after,      p->sticky_window_us,  p->drain_grace_us,
				 p->drain_timeout_us,  p->manual_cordons,    p->manual_per_us };
	const uint64_t want[] = { d.silent_after_us,   d.storm_cordons,	    d.storm_per_us,
				  d.alike_nodes,       d.alike_per_us,	    d.retest_times,
				  d.retest_spacing_us, d.retest_timeout_us, d.retest_returns,
				  d.hold_ttl_us,       d.hold_at_once,	    d.coverage_max_age_us,
				  d.override_us,       d.release_delay_us,  d.release_passes,
				  d.sticky_after,      d.sticky_window_us,  d.drain_grace_us,
				  d.drain_timeout_us,  d.manual_cordons,    d.manual_per_us };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(got); i++)
		CHECK_EQ(got[i], want[i]);
	CHECK_NEAR(p->breaker_silent_percent, d.breaker_silent_percent, 0);
	CHECK_NEAR(p->alike_percent, d.alike_percent, 0);
	CHECK_EQ(p->drain_mode, DRAIN_OFF);
	CHECK(!p->drain_bare);
	CHECK(p->drain_scratch);
}

static void the_shipped_policy_observes_and_ends_with_a_rule_for_all(void)
{
	CLEANUP(freep) char *path = test_source("policies/default.yaml");
	struct policy_subject any = { .check = "host.pcie_link" };
	struct policy p = policy_init();
	CLEANUP(json_freep) json_t *doc = NULL;
	struct err err = ERR_INIT;
	struct jval root;

	CHECK_EQ(yaml_read_file(path, &doc, &err), 0);
	root = jval_root(doc, path);
	CHECK_EQ(policy_decode(&root, &p, &err), 0);
	CHECK_STR(err.msg, "");
	CHECK_EQ(p.mode, MODE_OBSERVE);
	CHECK(policy_match(&p, &any) != NULL);
	check_built_in(&p);
	policy_release(&p);
}

static void what_is_not_said_keeps_its_default(void)
{
	struct policy p = policy_init();
	struct err err = ERR_INIT;

	CHECK_EQ(decode("{v: 1, budget: {total: {nodes: 4}}}", &p, &err), 0);
	CHECK_EQ(p.total_nodes, 4);
	CHECK_NEAR(p.total_percent, 10, 0);
	CHECK_EQ(p.rate_per_us, 10 * USEC_PER_MIN);
	CHECK_EQ(p.manual_cordons, 30);
	CHECK_EQ(p.manual_per_us, 10 * USEC_PER_MIN);
	CHECK_EQ(p.n_rules, 0);
	policy_release(&p);
}

static void what_leads_to_a_cordon_can_be_said(void)
{
	const char *yaml =
		"{v: 1, budget: {rate: {cordons: 2, per: 1h, manual: {cordons: 7, per: 2h}}}, "
		"breaker: {silent_after: 1h, storm: {cordons: 9, per: 1h}, "
		"alike: {percent: 5, nodes: 7, per: 2h}}, "
		"retest: {times: 3, spacing: 1m, timeout: 4m, returns: 5}, "
		"hold: {ttl: 9m, at_once: 0}, coverage: {max_age: 0s}, override: {life: 2d}, "
		"drain: {mode: evict-after-grace, grace: 3m, timeout: 4h, bare_pods: true, "
		"empty_dir: false, spares: 7}}";
	struct policy p = policy_init();
	struct err err = ERR_INIT;

	CHECK_EQ(decode(yaml, &p, &err), 0);
	CHECK_STR(err.msg, "");
	CHECK_EQ(p.rate_cordons, 2);
	CHECK_EQ(p.manual_cordons, 7);
	CHECK_EQ(p.manual_per_us, 2 * USEC_PER_HOUR);
	CHECK_EQ(p.silent_after_us, USEC_PER_HOUR);
	CHECK_EQ(p.storm_cordons, 9);
	CHECK_EQ(p.storm_per_us, USEC_PER_HOUR);
	CHECK_NEAR(p.alike_percent, 5, 0);
	CHECK_EQ(p.alike_nodes, 7);
	CHECK_EQ(p.alike_per_us, 2 * USEC_PER_HOUR);
	CHECK_EQ(p.retest_times, 3);
	CHECK_EQ(p.retest_spacing_us, USEC_PER_MIN);
	CHECK_EQ(p.retest_timeout_us, 4 * USEC_PER_MIN);
	CHECK_EQ(p.retest_returns, 5);
	CHECK_EQ(p.hold_ttl_us, 9 * USEC_PER_MIN);
	CHECK_EQ(p.hold_at_once, 0);
	CHECK_EQ(p.coverage_max_age_us, 0);
	CHECK_EQ(p.override_us, 2 * USEC_PER_DAY);
	CHECK_EQ(p.drain_mode, DRAIN_AFTER_GRACE);
	CHECK_EQ(p.drain_grace_us, 3 * USEC_PER_MIN);
	CHECK_EQ(p.drain_timeout_us, 4 * USEC_PER_HOUR);
	CHECK(p.drain_bare);
	CHECK(!p.drain_scratch);
	CHECK_EQ(p.drain_spares, 7);
	policy_release(&p);
}

static void the_first_rule_that_matches_wins(void)
{
	const char *yaml = "v: 1\n"
			   "rules:\n"
			   "- {name: a, match: {severity: fatal}, action: cordon}\n"
			   "- {name: b, match: {check: 'gemm.*', class: self}, action: retest,"
			   " floor: {ratio: 0.9, k: 4}, windows: {k: 2, n: 3}}\n"
			   "- {name: c, match: {check: 'gemm.*'}, action: alert}\n";
	static const struct {
		struct policy_subject subject;
		const char *name;
	} table[] = {
		{ { .check = "gemm.rate", .severity = "fatal" }, "a" },
		{ { .check = "gemm.rate", .locality = "self", .severity = "warn" }, "b" },
		{ { .check = "gemm.rate" }, "c" },
		{ { .check = "memory.copy_bw", .locality = "self" }, NULL },
	};
	struct policy p = policy_init();
	struct err err = ERR_INIT;
	size_t i;

	CHECK_EQ(decode(yaml, &p, &err), 0);
	CHECK_STR(err.msg, "");
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		const struct policy_rule *rule = policy_match(&p, &table[i].subject);

		CHECK_STR(rule ? rule->name : NULL, table[i].name);
	}
	CHECK_NEAR(p.rules[1].floor_ratio, 0.9, 1e-12);
	CHECK_EQ(p.rules[1].k, 2);
	CHECK(isnan(p.rules[0].floor_ratio));
	CHECK_EQ(p.rules[0].n, 1);
	policy_release(&p);
}

/* What people write wrongly, and what they are told. */
static const struct {
	const char *yaml, *message;
} wrong[] = {
	{ "mode: observe", "p.yaml: v: missing" },
	{ "v: 2", "p.yaml: v: expected 1" },
	{ "{v: 1, mood: x}", "p.yaml: mood: unknown key" },
	{ "{v: 1, mode: on}", "p.yaml: mode: 'on' is not one of observe, dry-run, enforce" },
	{ "{v: 1, budget: {total: {percent: 101}}}",
	  "p.yaml: budget.total.percent: 101 is outside 0 to 100" },
	{ "{v: 1, budget: {total: {percent: -1}}}", "budget.total.percent: -1 is outside" },
	{ "{v: 1, budget: {rate: {cordons: 3, per: soon}}}",
	  "budget.rate.per: 'soon' is not a duration" },
	{ "{v: 1, budget: {rate: {cordons: -3, per: 1m}}}", "budget.rate.cordons: -3 is negative" },
	{ "{v: 1, budget: {domain: {max: 1}}}", "budget.domain.label: missing" },
	{ "{v: 1, budget: 3}", "p.yaml: budget: expected an object, not a number" },
	{ "{v: 1, rules: {}}", "p.yaml: rules: expected a list" },
	{ "{v: 1, rules: [{name: a, match: {}, action: kill}]}",
	  "rules[0].action: 'kill' is not one of" },
	{ "{v: 1, rules: [{name: a, match: {chekc: x}, action: alert}]}",
	  "rules[0].match.chekc: unknown key" },
	{ "{v: 1, rules: [{name: a, match: {class: nodes}, action: alert}]}",
	  "rules[0].match.class: 'nodes' matches none of self, pix" },
	{ "{v: 1, rules: [{name: a, match: {check: ''}, action: alert}]}",
	  "rules[0].match.check: must not be empty" },
	{ "{v: 1, rules: [{name: '', match: {}, action: alert}]}",
	  "rules[0].name: must not be empty" },
	{ "{v: 1, rules: [{name: a, match: {sku: 7}, action: alert}]}",
	  "rules[0].match.sku: expected a string, not a number" },
	{ "{v: 1, budget: {domain: {label: '', max: 1}}}",
	  "budget.domain.label: must not be empty" },
	{ "{v: 1, budget: {rate: {cordons: 3, per: 0s}}}",
	  "budget.rate.per: must be longer than 0" },
	{ "{v: 1, budget: {rate: {cordons: 3, per: 10}}}",
	  "budget.rate.per: expected a string, not a number" },
	{ "{v: 1, budget: {deny: {per: soon}}}", "budget.deny.per: 'soon' is not a duration" },
	{ "{v: 1, breaker: {storm: {cordons: 3, per: 0s}}}",
	  "breaker.storm.per: must be longer than 0" },
	{ "{v: 1, rules: [{name: a, match: {class: 7}, action: alert}]}",
	  "rules[0].match.class: expected a string, not a number" },
	{ "{v: 1, rules: [{name: a, match: {severity: bad}, action: alert}]}",
	  "rules[0].match.severity: expected info, warn or fatal" },
	{ "{v: 1, rules: [{name: a, match: {}, action: alert, windows: {k: 3, n: 2}}]}",
	  "rules[0].windows: k 3 is larger than n 2" },
	{ "{v: 1, rules: [{name: a, match: {}, action: alert, floor: {ratio: 1.2}}]}",
	  "rules[0].floor.ratio: 1.2 is outside" },
	{ "{v: 1, rules: [{name: a, match: {check: 'x.*'}, action: alert},"
	  "{name: a, match: {check: y}, action: alert}]}",
	  "rules[1]: a second rule named 'a'" },
	{ "{v: 1, rules: [{name: a, match: {check: '*'}, action: alert},"
	  "{name: b, match: {check: y, severity: fatal}, action: cordon}]}",
	  "rules[1]: rule 'b' can never match: the earlier rule 'a' matches "
	  "everything that it would" },
	{ "{v: 1, drain: {mode: now}}", "drain.mode: " },
	{ "{v: 1, drain: {grace: 5m}}", "drain" },
	{ "{v: 1, drain: {mode: evict-now, spares: -1}}", "drain.spares: " },
	{ "{v: 1, drain: {mode: evict-now, force: true}}", "drain.force: " },
	{ "[1]", "p.yaml: expected an object, not a list" },
};

static void what_is_wrong_is_named_with_its_place(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct policy p = policy_init();
		struct err err = ERR_INIT;

		CHECK(decode(wrong[i].yaml, &p, &err) < 0);
		CHECK_HAS(err.msg, wrong[i].message);
		CHECK_EQ(p.n_rules, 0);
		policy_release(&p);
	}
}

static void more_rules_than_the_limit_are_refused(void)
{
	char *yaml = NULL;
	size_t size;
	FILE *out = open_memstream(&yaml, &size);
	struct policy p = policy_init();
	struct err err = ERR_INIT;
	int i;

	(void)fprintf(out, "v: 1\nrules:\n");
	for (i = 0; i <= POLICY_RULES_MAX; i++)
		(void)fprintf(out, "- {name: r%d, match: {check: c%d}, action: alert}\n", i, i);
	(void)fclose(out);
	CHECK(decode(yaml, &p, &err) < 0);
	CHECK_HAS(err.msg, "p.yaml: rules: 257 rules, more than 256");
	free(yaml);
}

static const struct test tests[] = {
	TEST(the_shipped_policy_observes_and_ends_with_a_rule_for_all),
	TEST(what_is_not_said_keeps_its_default),
	TEST(what_leads_to_a_cordon_can_be_said),
	TEST(the_first_rule_that_matches_wins),
	TEST(what_is_wrong_is_named_with_its_place),
	TEST(more_rules_than_the_limit_are_refused),
};

TEST_SUITE(tests);
