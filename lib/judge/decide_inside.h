/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of policy_decide() share among themselves. */
#pragma once

#include "lib/judge/decide.h"

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
	int want;     /* enum want; after what is shared is known */
};

struct deciding {
	const struct policy *policy;
	struct fleet *fleet;
	struct breaker *breaker;
	uint64_t now_us;
	struct outcome *out;
};

/* Mark what many hosts share, keep the notices, and open the breaker where it is due. */
void decide_shared(struct deciding *d);

/* What each candidate asks for, and their order. */
void decide_weigh(struct deciding *d);

/* At most one cordon a node, in that order, while budgets last. */
void decide_cordons(struct deciding *d);

/* Tests, holds, releases and coverage. */
void decide_orders(struct deciding *d);

/* Which cordoned nodes are drained; it uses the nodes' scratch. */
void decide_drains(struct deciding *d);

/* Whose node it is and what people said about it stand before any budget. */
bool decide_stands_allow(const struct deciding *d, const struct candidate *c, struct refusal *ret);

/* What is known of the finding, for the record. */
const char *decide_evidence(struct deciding *d, const struct candidate *c);

/* One more item; its texts are of the outcome's pool. */
struct decision *decide_add(struct deciding *d, struct fleet_node *node, int action);

/* It is not to be carried out; the refusal is copied, and when it ends by itself it is decided again. */
void decide_refuse(struct deciding *d, struct decision *one, const struct refusal *refusal);

/* A state changes by itself. */
void decide_step(struct deciding *d, struct fleet_node *node, int event, const char *why,
		 const char *evidence);

void decide_open(struct deciding *d, int cause, const char *sentence);

char *decide_text(struct deciding *d, const char *fmt, ...) PRINTF(2, 3);

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

/* Is `then_us` at least `age_us` ago? A stamp of 0 is. */
bool decide_past(uint64_t now_us, uint64_t then_us, uint64_t age_us);

/* The same of now, of what is decided when it is so: else the outcome says when that is. */
bool decide_reached(const struct deciding *d, uint64_t then_us, uint64_t age_us);
