/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/1: what an operator wants done about which finding, and the limits. Pure: JSON in
 * (lib/json reads the file), struct out. The same decoder serves `assayctl policy check`, `assay
 * run --policy` and the controller.
 *
 *	v: 1
 *	mode: observe | dry-run | enforce
 *	budget: {total: {percent, nodes}, domain: {label, max}, per_job,
 *	         rate: {cordons, per, manual: {cordons, per}}, deny: {percent, nodes, per}}
 *	breaker: {silent_percent, silent_after, storm: {cordons, per},
 *	          alike: {percent, nodes, per}}
 *	retest: {times, spacing, timeout, returns}
 *	hold: {ttl, at_once}   coverage: {max_age}   override: {life}
 *	startup: {lift, wait, max_age, verify_joined}
 *	release: {healthy_delay, passes, sticky_after, sticky_window}
 *	drain: {mode: off | annotate-only | evict-after-grace | evict-now, grace, timeout,
 *	        bare_pods, empty_dir, spares}
 *	jobs: what a slow job leads to: policy_jobs.h
 *	rules: first match wins: [{name, match: {check, class, sku, severity, code},
 *	        floor: {ratio, k}, windows: {k, n}, action}]
 *
 * check, class, sku and code are shell patterns within the limits of lib/base/glob.h.
 *
 * Strict: an unknown key, a wrong type, a number out of range, a rule that can never match because
 * an earlier one takes everything, or K greater than N is an error that names the place.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/policy/policy_jobs.h"
#include "lib/policy/policy_mode.h"

struct err;

enum { POLICY_RULES_MAX = 256 };

enum policy_action {
	ACTION_OBSERVE,
	ACTION_ALERT,
	ACTION_RETEST,
	ACTION_CORDON,
	ACTION_CORDON_DRAIN
};

/* What the action cordon+drain does besides the cordon. */
enum drain_mode {
	DRAIN_OFF,
	DRAIN_ASK,	   /* annotate the node: jobs that read it can save and leave */
	DRAIN_AFTER_GRACE, /* ... and evict what is left after `grace` */
	DRAIN_NOW,
};

extern const char *const drain_mode_names[]; /* "off" "annotate-only" ... */
extern const char *const policy_action_names[];

struct policy_rule {
	char *name;
	/* What it applies to; NULL matches all. `check` and `sku` are globs. */
	char *check, *locality, *sku, *severity, *code;
	double floor_ratio; /* floor relative to the reference, as 0.95; NAN: default */
	double floor_k;	    /* robust sigmas, as 3.5; NAN: default */
	uint64_t k, n;	    /* windows: K bad of the last N; 1 of 1 by default */
	int action;	    /* enum policy_action */
};

struct policy {
	int mode;	      /* enum policy_mode; observe by default */
	double total_percent; /* of the fleet, out of service at once */
	uint64_t total_nodes; /* the same as a count; 0: no limit by count */
	char *domain_label;   /* NULL: no limit per domain */
	uint64_t domain_max;
	uint64_t per_job;
	uint64_t rate_cordons, rate_per_us;	/* automatic ones, whole fleet */
	uint64_t manual_cordons, manual_per_us; /* a person's, per account */
	double deny_percent;
	uint64_t deny_nodes, deny_per_us;
	double breaker_silent_percent; /* percent of agents silent that opens the breaker */
	uint64_t silent_after_us;      /* an agent is silent after this long without a report */
	/* The breaker opens if more nodes than this are to be cordoned within the time. */
	uint64_t storm_cordons, storm_per_us; /* 0 cordons: twice the rate's */
	/*
	 * If the larger of this percent of a SKU's hosts and this number of nodes newly have one
	 * finding, they are not individually sick: the fleet has shifted.
	 */
	double alike_percent;
	uint64_t alike_nodes, alike_per_us;
	/* Tests in a row that must fail again, how far apart, and how long one may take. */
	uint64_t retest_times, retest_spacing_us, retest_timeout_us;
	uint64_t retest_returns;	    /* an event that came back this often is reproduced */
	uint64_t hold_ttl_us, hold_at_once; /* nodes kept free for tests at once */
	uint64_t coverage_max_age_us;	    /* how long a deep verdict is valid; 0: do not ask */
	uint64_t override_us;		    /* how long an uncordon by hand holds */
	bool startup_lift;	     /* lift the start-up taint once a test passes: startup.h */
	uint64_t startup_wait_us;    /* without a test for this long it counts as a denial */
	uint64_t startup_max_age_us; /* how long a test is valid */
	bool verify_joined; /* hosts that joined by token are unverified until a test passes */
	uint64_t release_delay_us, release_passes, sticky_after, sticky_window_us;
	int drain_mode;				   /* enum drain_mode; off by default */
	uint64_t drain_grace_us, drain_timeout_us; /* timeout 0: never gives up */
	uint64_t drain_spares; /* idle hosts of its SKU per evicted one; 0: not checked */
	bool drain_bare;       /* also evict what nothing would restart */
	bool drain_scratch;    /* emptyDir contents may be lost; nearly all training has one */
	struct policy_jobs jobs;
	struct policy_rule *rules;
	size_t n_rules;
};

/* The built-in defaults, without rules. */
struct policy policy_init(void);
void policy_release(struct policy *p);

/* -EINVAL with "FILE: path.to.key: what". */
int policy_decode(const struct jval *v, struct policy *ret, struct err *err);

/* What rules are matched against. A NULL member only matches rules that do not set it. */
struct policy_subject {
	const char *check, *locality, *sku, *severity, *code;
};

/* The first rule that matches, or NULL. Borrowed. */
const struct policy_rule *policy_match(const struct policy *p, const struct policy_subject *s);
