/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of policy_decide() share among themselves. */
#pragma once

#include "lib/policy/deciding.h"

/* Bits of a node's scratch. IS_WITHHELD: a cordon that jobs.born refuses is told. */
enum {
	HAS_CORDON = 1,
	HAS_TEST = 2,
	NEEDS_HOLD = 4,
	IS_PARTNER = 8,
	IS_WITHHELD = 16,
	ASKS_FOR_TEST = 32,
	HAS_HOLD = 64, /* with its group */
};

/* What one finding asks for. In order of weight. */
enum want { WANT_NOTHING, WANT_ALERT, WANT_RETEST, WANT_CORDON };

/* One finding that counts: K of N, or fatal; until decide_shared() also what was bad last. */
struct candidate {
	struct fleet_node *node;
	struct finding *finding;
	const struct policy_rule *rule;
	bool fatal;
	bool suspect; /* bad once, and K of N is not reached: for what is shared alone */
	bool born;    /* one part of several that was slow since it was first measured */
	bool told;    /* what it shares is told: a domain, a setting, a job, half of the fleet */
	int want;     /* enum want; after what is shared is known */
	/* Of decide_gain_order(): it has another's turn; it has none, as another of its node has. */
	bool moves, waits;
	/* The kind of notice that says whose it is, a setting or a job; 0: none. */
	int explained;
	/* Not yet a job that is bad as a whole, and no coincidence: its other hosts are waited for. */
	bool gathers;
};

/* Tests, holds, releases and coverage. */
void decide_orders(struct deciding *d);

/* False fills `ret`. */
bool breaker_allows(const struct breaker *breaker, struct refusal *ret);

/* Is it ours to touch at all? Likewise. */
bool node_allows(const struct fleet_node *node, struct refusal *ret);

/* Has another owner its hands on it? Likewise. */
bool hands_allow(const struct fleet_node *node, struct refusal *ret);

/* Is what is known of the fleet still so? Likewise. */
bool facts_allow(const struct fleet *fleet, struct refusal *ret);

/* Nobody else has a hand on it. */
static inline bool is_ours(const struct fleet_node *node)
{
	return node->managed && !node->hands_off;
}
