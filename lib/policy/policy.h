/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/1: what an operator wants done about which finding, and how much at
 * most. Pure: JSON in (lib/json reads the file), struct out. One decoder for
 * `assayctl policy check`, `assay run --policy` and the controller.
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
 * Strict: an unknown key, a wrong type, a number out of range, a rule that can
 * never match because an earlier one takes everything, K greater than N are
 * errors that name the place.
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
	DRAIN_ASK,	   /* tell it on the node: who reads that may save and leave */
	DRAIN_AFTER_GRACE, /* ... and evict what is still there after `grace` */
	DRAIN_NOW,
};

extern const char *const drain_mode_names[]; /* "off" "annotate-only" ... */
extern const char *const policy_action_names[];

struct policy_rule {
	char *name;
	/* What it is about; NULL matches all. `check` and `sku` are globs. */
	char *check, *locality, *sku, *severity, *code;
	double floor_ratio; /* relative floor below the reference, as 0.95; NAN: default */
	double floor_k;	    /* robust sigmas, as 3.5; NAN: default */
	uint64_t k, n;	    /* windows: K bad of the last N; 1 of 1 by default */
	int action;	    /* enum policy_action */
};

struct policy {
	int mode;	      /* enum policy_mode; observe by default */
	double total_percent; /* of the fleet out of service at once */
	uint64_t total_nodes; /* the same as a count; 0: no limit by count */
	char *domain_label;   /* NULL: no limit per domain */
	uint64_t domain_max;
	uint64_t per_job;
	uint64_t rate_cordons, rate_per_us;	/* automatic ones of the fleet */
	uint64_t manual_cordons, manual_per_us; /* those of one account of a person */
	double deny_percent;
	uint64_t deny_nodes, deny_per_us;
	double breaker_silent_percent; /* of the agents silent: the breaker opens */
	uint64_t silent_after_us;      /* an agent is silent without a report for so long */
	/* More nodes to be cordoned within so long than this open the breaker. */
	uint64_t storm_cordons, storm_per_us; /* 0 cordons: twice the rate's */
	/*
	 * The larger of so many percent of a SKU's hosts and so many nodes that newly
	 * have one finding are not sick by themselves: a shift of the fleet.
	 */
	double alike_percent;
	uint64_t alike_nodes, alike_per_us;
	/* Tests in a row that must fail again, how far apart, how long one may take. */
	uint64_t retest_times, retest_spacing_us, retest_timeout_us;
	uint64_t retest_returns;	    /* an event that came back so often is reproduced */
	uint64_t hold_ttl_us, hold_at_once; /* nodes kept free for tests at once */
	uint64_t coverage_max_age_us;	    /* a deep verdict is good for so long; 0: do not ask */
	uint64_t override_us;		    /* an uncordon by hand holds for so long */
	bool startup_lift;	     /* the start-up taint goes when a test has passed: startup.h */
	uint64_t startup_wait_us;    /* without a test for so long it is a denial */
	uint64_t startup_max_age_us; /* a test counts for so long */
	bool verify_joined; /* who joined by a token is unverified until a test has passed */
	uint64_t release_delay_us, release_passes, sticky_after, sticky_window_us;
	int drain_mode;				   /* enum drain_mode; off by default */
	uint64_t drain_grace_us, drain_timeout_us; /* a timeout of 0: it never gives up */
	uint64_t drain_spares; /* idle hosts of its kind for each that is evicted; 0: not looked at */
	bool drain_bare;       /* what nothing would start again is evicted too */
	bool drain_scratch;    /* what is in an emptyDir may be lost: nearly all training has one */
	struct policy_jobs jobs;
	struct policy_rule *rules;
	size_t n_rules;
};

/* The built-in defaults, without rules. */
struct policy policy_init(void);
void policy_release(struct policy *p);

/* -EINVAL with "FILE: path.to.key: what". */
int policy_decode(const struct jval *v, struct policy *ret, struct err *err);

/* What a rule is matched on. NULL members match only rules that do not ask. */
struct policy_subject {
	const char *check, *locality, *sku, *severity, *code;
};

/* The first rule that matches, or NULL. Borrowed. */
const struct policy_rule *policy_match(const struct policy *p, const struct policy_subject *s);
