/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/policy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/glob.h"
#include "lib/base/xalloc.h"
#include "lib/json/jsome.h"
#include "lib/report/report.h"

const char *const drain_mode_names[] = {
	[DRAIN_OFF] = "off",
	[DRAIN_ASK] = "annotate-only",
	[DRAIN_AFTER_GRACE] = "evict-after-grace",
	[DRAIN_NOW] = "evict-now",
	NULL,
};
const char *const policy_action_names[] = {
	[ACTION_OBSERVE] = "observe",
	[ACTION_ALERT] = "alert",
	[ACTION_RETEST] = "retest",
	[ACTION_CORDON] = "cordon",
	[ACTION_CORDON_DRAIN] = "cordon+drain",
	NULL,
};

/* Kept as text, since severities are only matched, not ordered. */
static int decode_severity(const struct jval *v, void *member, struct err *err)
{
	const char *text = json_string_value(v->value);
	size_t i;

	for (i = 0; text && severity_names[i]; i++) {
		if (!streq(text, severity_names[i]))
			continue;
		free(*(char **)member);
		*(char **)member = xstrdup(text);
		return 0;
	}
	return jval_fail(v, err, "expected info, warn or fatal");
}

/* Patterns are matched against each other, and against names that hosts choose freely. */
static int decode_glob(const struct jval *v, void *member, struct err *err)
{
	const char *glob = json_string_value(v->value);

	if (glob && !glob_ok(glob))
		return jval_fail(v, err,
				 "expected at most %d characters besides *, %d [...] and %d bytes",
				 GLOB_STEPS_MAX, GLOB_SETS_MAX, GLOB_BYTES_MAX);
	return jsome_text(v, member, err);
}

static int decode_class(const struct jval *v, void *member, struct err *err)
{
	const char *glob = json_string_value(v->value);
	int r = decode_glob(v, member, err);

	if (r < 0)
		return r;
	if (!sample_class_possible(glob))
		return jval_fail(v, err, "'%.40s' matches none of " SAMPLE_CLASSES, glob);
	return 0;
}

#define RULE(m) offsetof(struct policy_rule, m)

static const struct jfield match_fields[] = {
	{ "check", J_CUSTOM, RULE(check), 0, .decode = decode_glob },
	{ "class", J_CUSTOM, RULE(locality), 0, .decode = decode_class },
	{ "sku", J_CUSTOM, RULE(sku), 0, .decode = decode_glob },
	{ "severity", J_CUSTOM, RULE(severity), 0, .decode = decode_severity },
	{ "code", J_CUSTOM, RULE(code), 0, .decode = decode_glob },
};
static const struct jfield floor_fields[] = {
	{ "ratio", J_REAL, RULE(floor_ratio), 0, .min = 0.01, .max = 1 },
	{ "k", J_REAL, RULE(floor_k), 0, .min = 0.5, .max = 100 },
};
static const struct jfield window_fields[] = {
	{ "k", J_U64, RULE(k), J_REQUIRED, .min = 1, .max = 1000 },
	{ "n", J_U64, RULE(n), J_REQUIRED, .min = 1, .max = 1000 },
};

/*
 * Members of a nested object that are in the same struct as its parent: `member` is the struct
 * itself.
 */
static int decode_match(const struct jval *v, void *member, struct err *err)
{
	return jval_decode(v, match_fields, ARRAY_SIZE(match_fields), JVAL_STRICT, member, err);
}

static int decode_floor(const struct jval *v, void *member, struct err *err)
{
	return jval_decode(v, floor_fields, ARRAY_SIZE(floor_fields), JVAL_STRICT, member, err);
}

static int decode_windows(const struct jval *v, void *member, struct err *err)
{
	struct policy_rule *rule = member;
	int r = jval_decode(v, window_fields, ARRAY_SIZE(window_fields), JVAL_STRICT, rule, err);

	if (r == 0 && rule->k > rule->n)
		r = jval_fail(v, err, "k %llu is larger than n %llu: it can never be reached",
			      (unsigned long long)rule->k, (unsigned long long)rule->n);
	return r;
}

static const struct jfield rule_fields[] = {
	{ "name", J_CUSTOM, RULE(name), J_REQUIRED, .decode = jsome_text },
	{ "match", J_CUSTOM, 0, J_REQUIRED, .decode = decode_match },
	{ "floor", J_CUSTOM, 0, 0, .decode = decode_floor },
	{ "windows", J_CUSTOM, 0, 0, .decode = decode_windows },
	{ "action", J_ENUM, RULE(action), J_REQUIRED, .names = policy_action_names },
};

static void rule_release(struct policy_rule *rule)
{
	free(rule->name);
	free(rule->check);
	free(rule->locality);
	free(rule->sku);
	free(rule->severity);
	free(rule->code);
}

/* True if `general` matches everything that `special` could match. */
static bool covers(const char *general, const char *special)
{
	if (!general || streq(general, "*"))
		return true;
	return special && glob_match(general, special);
}

static bool rule_covers(const struct policy_rule *a, const struct policy_rule *b)
{
	return covers(a->check, b->check) && covers(a->locality, b->locality) &&
	       covers(a->sku, b->sku) && covers(a->severity, b->severity) &&
	       covers(a->code, b->code);
}

/* Rejects duplicate names, and rules that an earlier one makes unreachable. */
static int check_rule(const struct jval *v, const struct policy *p, const struct policy_rule *rule,
		      struct err *err)
{
	size_t i;

	for (i = 0; i < p->n_rules; i++) {
		if (streq(p->rules[i].name, rule->name))
			return jval_fail(v, err, "a second rule named '%s'", rule->name);
		if (rule_covers(&p->rules[i], rule))
			return jval_fail(v, err,
					 "rule '%s' can never match: the earlier rule '%s' matches "
					 "everything that it would",
					 rule->name, p->rules[i].name);
	}
	return 0;
}

static int decode_rules(const struct jval *v, void *member, struct err *err)
{
	struct policy *p = member;
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && n > POLICY_RULES_MAX)
		r = jval_fail(v, err, "%zu rules, more than %d", n, POLICY_RULES_MAX);
	if (r < 0)
		return r;
	p->rules = xcalloc(n, sizeof(*p->rules));
	for (i = 0; i < n; i++) {
		struct jval item = jval_at(v, i);
		struct policy_rule rule = { .floor_ratio = NAN, .floor_k = NAN, .k = 1, .n = 1 };

		r = jval_decode(&item, rule_fields, ARRAY_SIZE(rule_fields), JVAL_STRICT, &rule,
				err);
		if (r == 0)
			r = check_rule(&item, p, &rule, err);
		if (r < 0) {
			rule_release(&rule);
			return r;
		}
		p->rules[p->n_rules++] = rule;
	}
	return 0;
}

#define POLICY(m) offsetof(struct policy, m)

enum { COUNT_MAX = 1000000 };

/* One nested object: its fields are members of struct policy. */
#define NESTED(name, table)                                                                \
	static int name(const struct jval *v, void *member, struct err *err)               \
	{                                                                                  \
		return jval_decode(v, table, ARRAY_SIZE(table), JVAL_STRICT, member, err); \
	}                                                                                  \
	struct name##_needs_semicolon

static const struct jfield total_fields[] = {
	{ "percent", J_REAL, POLICY(total_percent), 0, .min = 0, .max = 100 },
	{ "nodes", J_U64, POLICY(total_nodes), 0, .min = 0, .max = COUNT_MAX },
};
static const struct jfield domain_fields[] = {
	{ "label", J_CUSTOM, POLICY(domain_label), J_REQUIRED, .decode = jsome_text },
	{ "max", J_U64, POLICY(domain_max), J_REQUIRED, .min = 1, .max = COUNT_MAX },
};
static const struct jfield manual_fields[] = {
	{ "cordons", J_U64, POLICY(manual_cordons), J_REQUIRED, .min = 0, .max = COUNT_MAX },
	{ "per", J_CUSTOM, POLICY(manual_per_us), J_REQUIRED, .decode = jsome_time },
};
NESTED(decode_manual, manual_fields);
static const struct jfield rate_fields[] = {
	{ "cordons", J_U64, POLICY(rate_cordons), J_REQUIRED, .min = 0, .max = COUNT_MAX },
	{ "per", J_CUSTOM, POLICY(rate_per_us), J_REQUIRED, .decode = jsome_time },
	{ "manual", J_CUSTOM, 0, 0, .decode = decode_manual },
};
static const struct jfield deny_fields[] = {
	{ "percent", J_REAL, POLICY(deny_percent), 0, .min = 0, .max = 100 },
	{ "nodes", J_U64, POLICY(deny_nodes), 0, .min = 0, .max = COUNT_MAX },
	{ "per", J_CUSTOM, POLICY(deny_per_us), 0, .decode = jsome_time },
};
static const struct jfield storm_fields[] = {
	{ "cordons", J_U64, POLICY(storm_cordons), J_REQUIRED, .min = 0, .max = COUNT_MAX },
	{ "per", J_CUSTOM, POLICY(storm_per_us), 0, .decode = jsome_time },
};
static const struct jfield alike_fields[] = {
	{ "percent", J_REAL, POLICY(alike_percent), 0, .min = 0, .max = 100 },
	{ "nodes", J_U64, POLICY(alike_nodes), 0, .min = 2, .max = COUNT_MAX },
	{ "per", J_CUSTOM, POLICY(alike_per_us), 0, .decode = jsome_time },
};
NESTED(decode_storm, storm_fields);
NESTED(decode_alike, alike_fields);
static const struct jfield breaker_fields[] = {
	{ "silent_percent", J_REAL, POLICY(breaker_silent_percent), 0, .min = 1, .max = 100 },
	{ "silent_after", J_DURATION, POLICY(silent_after_us), 0 },
	{ "storm", J_CUSTOM, 0, 0, .decode = decode_storm },
	{ "alike", J_CUSTOM, 0, 0, .decode = decode_alike },
};
static const struct jfield retest_fields[] = {
	{ "times", J_U64, POLICY(retest_times), 0, .min = 1, .max = 100 },
	{ "spacing", J_DURATION, POLICY(retest_spacing_us), 0 },
	{ "timeout", J_DURATION, POLICY(retest_timeout_us), 0 },
	{ "returns", J_U64, POLICY(retest_returns), 0, .min = 1, .max = 100 },
};
static const struct jfield hold_fields[] = {
	{ "ttl", J_DURATION, POLICY(hold_ttl_us), 0 },
	{ "at_once", J_U64, POLICY(hold_at_once), 0, .min = 0, .max = COUNT_MAX },
};
static const struct jfield coverage_fields[] = {
	{ "max_age", J_DURATION, POLICY(coverage_max_age_us), 0 },
};
static const struct jfield override_fields[] = {
	{ "life", J_DURATION, POLICY(override_us), 0 },
};
static const struct jfield startup_fields[] = {
	{ "lift", J_BOOL, POLICY(startup_lift), J_REQUIRED },
	{ "wait", J_DURATION, POLICY(startup_wait_us), 0 },
	{ "max_age", J_DURATION, POLICY(startup_max_age_us), 0 },
	{ "verify_joined", J_BOOL, POLICY(verify_joined), 0 },
};
static const struct jfield release_fields[] = {
	{ "healthy_delay", J_DURATION, POLICY(release_delay_us), 0 },
	{ "passes", J_U64, POLICY(release_passes), 0, .min = 1, .max = 1000 },
	{ "sticky_after", J_U64, POLICY(sticky_after), 0, .min = 1, .max = 1000 },
	{ "sticky_window", J_DURATION, POLICY(sticky_window_us), 0 },
};
static const struct jfield drain_fields[] = {
	{ "mode", J_ENUM, POLICY(drain_mode), J_REQUIRED, .names = drain_mode_names },
	{ "grace", J_DURATION, POLICY(drain_grace_us), 0 },
	{ "timeout", J_DURATION, POLICY(drain_timeout_us), 0 },
	{ "bare_pods", J_BOOL, POLICY(drain_bare), 0 },
	{ "empty_dir", J_BOOL, POLICY(drain_scratch), 0 },
	{ "spares", J_U64, POLICY(drain_spares), 0, .min = 0, .max = COUNT_MAX },
};
NESTED(decode_drain, drain_fields);
NESTED(decode_total, total_fields);
NESTED(decode_domain, domain_fields);
NESTED(decode_rate, rate_fields);
NESTED(decode_deny, deny_fields);
NESTED(decode_breaker, breaker_fields);
NESTED(decode_release, release_fields);
NESTED(decode_retest, retest_fields);
NESTED(decode_hold, hold_fields);
NESTED(decode_coverage, coverage_fields);
NESTED(decode_override, override_fields);
NESTED(decode_startup, startup_fields);

static const struct jfield budget_fields[] = {
	{ "total", J_CUSTOM, 0, 0, .decode = decode_total },
	{ "domain", J_CUSTOM, 0, 0, .decode = decode_domain },
	{ "per_job", J_U64, POLICY(per_job), 0, .min = 1, .max = COUNT_MAX },
	{ "rate", J_CUSTOM, 0, 0, .decode = decode_rate },
	{ "deny", J_CUSTOM, 0, 0, .decode = decode_deny },
};
NESTED(decode_budget, budget_fields);

static int decode_version(const struct jval *v, void *member UNUSED, struct err *err)
{
	if (!json_is_integer(v->value) || json_integer_value(v->value) != 1)
		return jval_fail(v, err, "expected 1: this program reads policy/1");
	return 0;
}

static const struct jfield policy_fields[] = {
	{ "v", J_CUSTOM, 0, J_REQUIRED, .decode = decode_version },
	{ "mode", J_ENUM, POLICY(mode), 0, .names = policy_mode_names },
	{ "budget", J_CUSTOM, 0, 0, .decode = decode_budget },
	{ "breaker", J_CUSTOM, 0, 0, .decode = decode_breaker },
	{ "retest", J_CUSTOM, 0, 0, .decode = decode_retest },
	{ "hold", J_CUSTOM, 0, 0, .decode = decode_hold },
	{ "coverage", J_CUSTOM, 0, 0, .decode = decode_coverage },
	{ "override", J_CUSTOM, 0, 0, .decode = decode_override },
	{ "startup", J_CUSTOM, 0, 0, .decode = decode_startup },
	{ "release", J_CUSTOM, 0, 0, .decode = decode_release },
	{ "drain", J_CUSTOM, 0, 0, .decode = decode_drain },
	{ "jobs", J_CUSTOM, POLICY(jobs), 0, .decode = policy_jobs_decode },
	{ "rules", J_CUSTOM, 0, 0, .decode = decode_rules },
};

struct policy policy_init(void)
{
	return (struct policy){
		.mode = MODE_OBSERVE,
		.total_percent = 10,
		.domain_max = 1,
		.per_job = 1,
		.rate_cordons = 3,
		.rate_per_us = 10 * USEC_PER_MIN,
		.manual_cordons = 30,
		.manual_per_us = 10 * USEC_PER_MIN,
		.deny_percent = 2,
		.deny_nodes = 3,
		.deny_per_us = 10 * USEC_PER_MIN,
		.breaker_silent_percent = 30,
		.silent_after_us = 15 * USEC_PER_MIN,
		.storm_per_us = 10 * USEC_PER_MIN,
		.alike_percent = 2,
		.alike_nodes = 5,
		.alike_per_us = 6 * USEC_PER_HOUR,
		.retest_times = 2,
		.retest_spacing_us = 30 * USEC_PER_MIN,
		.retest_timeout_us = 2 * USEC_PER_HOUR,
		.retest_returns = 3,
		.hold_ttl_us = 30 * USEC_PER_MIN,
		.hold_at_once = 2,
		.coverage_max_age_us = 7 * USEC_PER_DAY,
		.override_us = USEC_PER_DAY,
		.startup_wait_us = 30 * USEC_PER_MIN,
		.startup_max_age_us = USEC_PER_HOUR,
		.verify_joined = true,
		.release_delay_us = 30 * USEC_PER_MIN,
		.release_passes = 1,
		.sticky_after = 3,
		.sticky_window_us = 7 * USEC_PER_DAY,
		.drain_mode = DRAIN_OFF,
		.drain_grace_us = 10 * USEC_PER_MIN,
		.drain_timeout_us = USEC_PER_HOUR,
		.drain_scratch = true,
		.drain_spares = 1,
		.jobs = policy_jobs_init(),
	};
}

void policy_release(struct policy *p)
{
	size_t i;

	for (i = 0; i < p->n_rules; i++)
		rule_release(&p->rules[i]);
	free(p->rules);
	free(p->domain_label);
	*p = policy_init();
}

int policy_decode(const struct jval *v, struct policy *ret, struct err *err)
{
	struct policy p = policy_init();
	int r = jval_decode(v, policy_fields, ARRAY_SIZE(policy_fields), JVAL_STRICT, &p, err);

	if (r < 0)
		policy_release(&p);
	else
		*ret = p;
	return r;
}

/* `glob` NULL matches all; a subject without the member only matches that. */
static bool matches(const char *glob, const char *text)
{
	return !glob || (text && glob_match(glob, text));
}

const struct policy_rule *policy_match(const struct policy *p, const struct policy_subject *s)
{
	size_t i;

	for (i = 0; i < p->n_rules; i++) {
		const struct policy_rule *rule = &p->rules[i];

		if (matches(rule->check, s->check) && matches(rule->locality, s->locality) &&
		    matches(rule->sku, s->sku) && matches(rule->severity, s->severity) &&
		    matches(rule->code, s->code))
			return rule;
	}
	return NULL;
}
