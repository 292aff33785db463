/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides what to do about the whole fleet at once, so that budgets hold in one place. Pure: no
 * I/O, no clock, no globals; same fleet, same answer.
 *
 * Model. The first rule of the policy that matches a finding says what follows:
 *
 *	observe	      nothing
 *	alert	      reported, once K of N windows is reached
 *	retest	      reported, and an active test is ordered. It leads to a cordon when
 *		      reproduced: `retest.times` tests in a row failed again, those of pairs
 *		      with a partner known to be good. For a value that spreads, a bad run
 *		      that was not ordered counts as one. A finding that is an event (no
 *		      number that spreads) and came back `retest.returns` times after passing
 *		      is reproduced too
 *	cordon[+drain] at K of N; for a measured check (one that spreads) never after one
 *		      bad window alone, and for a test of pairs never without a good partner
 *
 * - Severity fatal needs no K of N.
 * - A slow job that blames the node (blame.h) counts as reproducing a reached finding, if check and
 *   time fit what the job says (never for wrong data; for pairs once a good partner has confirmed
 *   it). If nothing was found, it orders a test; a blame that may not evict yet only orders the
 *   test. The node is held for that first if `hold.at_once` and the budgets have room.
 * - A hold ends at its time, or as soon as nothing asks for a test of its node.
 * - One part of several that was slow since its first measurement (`born`) is reported, and
 *   cordoned only if a job blames the node for it and jobs.born permits: such a part is as often
 *   the tail of the lottery as sick. It is not counted in what hosts share, and a refusal by
 *   jobs.born does not delay anything else on the node.
 * - What half of a SKU's hosts show, or what `breaker.alike` hosts all over the fleet have newly
 *   reached, is no host's fault: one notice of the fleet, no cordon. If it is fatal, or the SKU
 *   file alone says it of half of them, the breaker opens instead.
 * - What 30 % of a domain's hosts show (at least 3) is one notice of the domain: its hosts are not
 *   cordoned for it. Fatal ones still are, under budget.domain.
 * - The same for what 30 % of a SKU's hosts with one setting, or half of one job, show (at least
 *   3), if hardly any host without it does: a notice that names the setting or the job.
 * - A finding that was in such a notice (not one of fewer than half of a SKU) stays shared until a
 *   day after it was last in one and K of N of its runs since then are bad, and while three hosts
 *   that were in it together still are; earlier tests do not count.
 * - If as many hosts of a domain as `breaker.alike.nodes`, and four times as many as elsewhere,
 *   newly have the same finding, they wait until the others have run (at most `breaker.alike.per`):
 *   until then none of them is reported, tested or cordoned for it.
 * - As soon as one host of a group has reached its K of N, those that were bad in their last run
 *   count with it: each host runs its tests when it is idle, and waiting until most have reached it
 *   would blame them one by one meanwhile.
 * - A node cordoned by a cordon+drain rule is drained as policy.drain says: one node of a job at a
 *   time, not while another bad one of that job still takes work, and only if drain.spares idle
 *   hosts of its SKU are known per drained node.
 * - A node that somebody else cordoned, that opted out, or that is silenced is not touched. A
 *   person's uncordon holds against everything but a newer fatal finding.
 *
 * Order: cordons first (fatal, then the oldest, then by name; those that people refuse come after
 * the others), then what findings ask for, in the same order, then the rest by name. Hosts for
 * which the plan of a job says what a good replacement gains (blame.h) swap turns among themselves,
 * for cordons and for drains, so that the largest gain goes first; fatal findings and hosts without
 * a plan are never moved back by this. Budgets are granted in that order, and what was granted
 * counts for the following, so executing every decision of one call keeps every budget.
 *
 * The answer is a level, not an edge: until the fleet changes (policy_begun(), policy_applied(),
 * fleet_event()), the next call says the same. A refused decision is repeated each time; record it
 * when (node, refusal.by) is new. Only state changes, `opened`, and a notice's begun and ended_us
 * are reported once.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/base/pool.h"
#include "lib/policy/breaker.h"
#include "lib/policy/budget.h"
#include "lib/policy/fleet.h"
#include "lib/policy/policy.h"

struct err;

enum decision_action {
	DECIDE_NOTHING,
	DECIDE_ALERT,  /* report a finding that has reached K of N */
	DECIDE_RETEST, /* order a test of one finding */
	DECIDE_DEEP,   /* order a full test: a job blames it, or coverage is due */
	DECIDE_VERIFY, /* order a test of a cordoned node that may be released */
	DECIDE_HOLD,   /* keep jobs away until hold_until_us, for a test that is due */
	DECIDE_UNHOLD, /* its time is over, or its test */
	DECIDE_CORDON,
	DECIDE_CORDON_DRAIN,
	DECIDE_RELEASE,	 /* lift our cordon */
	DECIDE_DRAIN,	 /* make the jobs on a cordoned node leave */
	DECIDE_VERIFIED, /* never from policy_decide(): the start-up taint, startup.h */
	DECIDE_ACTIONS
};
extern const char
	*const decision_action_names[]; /* "nothing" "alert" ... "cordon+drain" "release" "drain" */

/* Rule name of tests that are ordered because a job blames the node. */
#define DECIDE_BLAMED_RULE "attribution"

/* One decision. Texts live as long as the outcome, pointers until the fleet changes. */
struct decision {
	struct fleet_node *node;
	struct finding *finding; /* the worst that it is about; NULL: the node itself */
	int action;		 /* enum decision_action */
	/*
	 * True: do it (mode enforce, not refused). Otherwise only report it; in mode dry-run also
	 * say that it would be done. Alerts are reported in every mode.
	 */
	bool effect;
	bool fatal;
	bool sticky;	      /* only a person ends this cordon */
	bool born;	      /* cordon for a part that was always slow: counts for jobs.born */
	bool only_ask;	      /* DECIDE_DRAIN: annotate the node, but evict nothing */
	const char *rule;     /* of the policy; or DECIDE_BLAMED_RULE, "coverage", "release" */
	const char *reason;   /* a sentence that names the node */
	const char *evidence; /* "incident 17; gemm.rate of gpu:3; reproduced 2 of 2" */
	const char *partner;  /* DECIDE_RETEST of pairs: known to be good; NULL: none, or no pair */
	const char *profile;  /* DECIDE_DEEP: a rung (rungs.h); NULL: the profile full */
	uint64_t until_us;    /* DECIDE_HOLD */
	const struct refusal *refused; /* NULL: not refused */
};

enum notice_kind { NOTICE_FLEET, NOTICE_DOMAIN, NOTICE_SETTING, NOTICE_JOB, NOTICE_KINDS };
extern const char *const notice_kind_names[]; /* "fleet" "domain" "setting" "job" */

/* Something that many hosts share: one alarm or incident instead of many. Kept in the fleet. */
struct notice {
	int kind;	/* enum notice_kind */
	char *key;	/* "SKU CHECK", the domain, "SKU CHECK SETTING" or "SKU CHECK JOB" */
	char *sentence; /* which hosts, how many, what to check */
	uint64_t since_us;
	uint64_t ended_us; /* 0: it stands; else the next call removes it */
	bool begun;	   /* in this call */
	size_t hosts, of;
	size_t ends_below; /* it ends with fewer hosts than this */
	bool stands;	   /* internal */
};

/* A state that changed without an effect: suspected, cleared, verify-failed, settled. */
struct node_change {
	struct fleet_node *node;
	struct life_change change;
};

struct candidate;

/* The answer. Zero it before its first use; the next call reuses its memory. */
struct outcome {
	struct decision *items; /* in order */
	size_t n, room;
	const struct notice *notices; /* of the fleet: standing, or just ended */
	size_t n_notices;
	struct node_change *changes; /* states changed by this call itself: record them */
	size_t n_changes, room_changes;
	uint64_t again_us;    /* when passing time may allow more; 0: unknown */
	bool opened;	      /* this call opened the breaker: store and report it */
	uint64_t out;	      /* nodes unavailable before these decisions, of budget.total_max */
	uint64_t wanted;      /* cordons wanted within the time of `storm` */
	struct budget budget; /* includes what this call granted */
	struct pool texts;
	struct candidate *candidates; /* internal */
	size_t n_candidates, room_candidates;
};

/*
 * `policy->mode` must be the effective mode (the more cautious of the option's and the file's).
 * Changes in `fleet` only what it maintains itself (states before the cordon, reached_us,
 * wanted_us, clear_us, notices), and may open `breaker`. O(nodes + findings log findings).
 */
void policy_decide(const struct policy *policy, struct fleet *fleet, struct breaker *breaker,
		   uint64_t now_us, struct outcome *ret);

/*
 * Records that a decision begins, as far as the next policy_decide() must know: that a test is
 * ordered, or that eviction starts. `ret->event` is -1 if no state changes. -EINVAL as below.
 */
int policy_begun(struct fleet *fleet, const struct decision *decision, uint64_t now_us,
		 struct life_change *ret, struct err *err);

/*
 * Records that a decision was fully carried out (state, marks, rate, hold, record of the part).
 * `ret` may be NULL. -EINVAL if the state no longer allows it; then nothing has changed.
 */
int policy_applied(const struct policy *policy, struct fleet *fleet, struct breaker *breaker,
		   const struct decision *decision, uint64_t now_us, struct life_change *ret,
		   struct err *err);

void outcome_release(struct outcome *o);

/* Nodes whose last deep verdict is older than coverage.max_age, oldest first. */
struct coverage {
	struct fleet_node **due; /* owned array of borrowed nodes */
	size_t n;
};
void coverage_list(const struct policy *policy, const struct fleet *fleet, uint64_t now_us,
		   struct coverage *ret);
void coverage_release(struct coverage *c);
