/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of policy_decide(). */
#pragma once

#include "lib/policy/deciding.h"

/* Bits of a node's scratch. IS_WITHHELD: a cordon refused by jobs.born is in the answer. */
enum {
	HAS_CORDON = 1,
	HAS_TEST = 2,
	NEEDS_HOLD = 4,
	IS_PARTNER = 8,
	IS_WITHHELD = 16,
	ASKS_FOR_TEST = 32,
	HAS_HOLD = 64, /* together with its group */
};

/* What one finding asks for, in order of weight. */
enum want { WANT_NOTHING, WANT_ALERT, WANT_RETEST, WANT_CORDON };

/* A finding that counts: K of N, or fatal; until decide_shared() also one that was bad last. */
struct candidate {
	struct fleet_node *node;
	struct finding *finding;
	const struct policy_rule *rule;
	bool fatal;
	bool suspect; /* bad once, K of N not reached: only counts for what is shared */
	bool born;    /* one part of several that was slow since its first measurement */
	bool told;    /* a notice covers it: domain, setting, job, half of the fleet */
	int want;     /* enum want; valid once it is known what is shared */
	/*
	 * Of decide_gain_order(): it has another's turn; it has none, as another of its node has.
	 */
	bool moves, waits;
	/* The kind of notice that explains it, a setting or a job; 0: none. */
	int explained;
	/* Its job may yet turn out bad as a whole: wait for the job's other hosts. */
	bool gathers;
};

/* Tests, holds, releases and coverage. */
void decide_orders(struct deciding *d);

/* These return true if allowed; if false, `ret` says why. */
bool breaker_allows(const struct breaker *breaker, struct refusal *ret);

/* Is it ours to touch at all? */
bool node_allows(const struct fleet_node *node, struct refusal *ret);

/* Is no other owner at work on it? */
bool hands_allow(const struct fleet_node *node, struct refusal *ret);

/* Is the view of the fleet up to date? */
bool facts_allow(const struct fleet *fleet, struct refusal *ret);

/* Managed by us, and no other owner is at work on it. */
static inline bool is_ours(const struct fleet_node *node)
{
	return node->managed && !node->hands_off;
}
