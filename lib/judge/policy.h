/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/1: what an operator wants done about which finding, and how much at
 * most. Pure: JSON in (lib/json reads the file), struct out. One decoder for
 * `assayctl policy check`, `assay run --policy` and the controller.
 *
 *	v: 1
 *	mode: observe | dry-run | enforce
 *	budget: {total: {percent, nodes}, domain: {label, max}, per_job,
 *	         rate: {cordons, per}, deny: {percent, nodes, per}}
 *	breaker: {silent_percent}
 *	release: {healthy_delay, passes, sticky_after, sticky_window}
 *	rules: first match wins: [{name, match: {check, class, sku, severity, code},
 *	        floor: {ratio, k}, windows: {k, n}, action}]
 *
 * Strict: an unknown key, a wrong type, a number out of range, a rule that can
 * never match because an earlier one takes everything, K greater than N are
 * errors that name the place.
 */
#pragma once

#include <stdint.h>

#include "lib/json.h"
#include "lib/macro.h"

struct err;

enum { POLICY_RULES_MAX = 256 };

enum policy_mode { MODE_OBSERVE, MODE_DRY_RUN, MODE_ENFORCE };
enum policy_action {
	ACTION_OBSERVE,
	ACTION_ALERT,
	ACTION_RETEST,
	ACTION_CORDON,
	ACTION_CORDON_DRAIN
};

extern const char *const policy_mode_names[];
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
	uint64_t rate_cordons, rate_per_us;
	double deny_percent;
	uint64_t deny_nodes, deny_per_us;
	double breaker_silent_percent;
	uint64_t release_delay_us, release_passes, sticky_after, sticky_window_us;
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
