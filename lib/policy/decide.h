/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do about the fleet, all of it at once, so that budgets hold in one
 * place. Pure: no I/O, no clock, no globals; same fleet, same answer.
 *
 * Model. Each finding meets the first rule of the policy that matches it:
 *
 *	observe	      nothing
 *	alert	      told, K of N windows once reached
 *	retest	      told, and an active test is ordered; it leads to a cordon when
 *		      reproduced: `retest.times` tests in a row failed again, those
 *		      of pairs with a partner that is known to be good. A bad run that
 *		      nobody ordered counts as one of a value that spreads. A finding
 *		      that is an event (no number that spreads) and came back
 *		      `retest.returns` times after passing is reproduced too
 *	cordon[+drain] at K of N; of a measured check (one that spreads) never after
 *		      one bad window alone, and of a test of pairs never without a
 *		      good partner
 *
 *  - severity fatal needs no K of N;
 *  - a slow job that blames the node (blame.h) reproduces what was reached, where it fits what
 *    the job says and when (wrong data never; pairs once a good partner told the same), and
 *    orders a test where nothing was found. One that may not evict yet only asks for the test. For
 *    that it is held first where `hold.at_once` and the budgets have room for it;
 *  - a hold ends at its time, or as soon as nothing asks for a test of its node;
 *  - one part of several that is slow since it was first measured (`born`) is
 *    told, and cordoned only when a job blames the node for it, and jobs.born lets it: such a part
 *    is the tail of the lottery as often as sick. It counts towards nothing that hosts share, and
 *    what jobs.born refuses stands in the way of nothing else on the node;
 *  - what half of a SKU's hosts show, or `breaker.alike` hosts all over the fleet
 *    have newly reached, is no host's fault: one notice of the fleet, no cordon; if it is
 *    fatal, or the SKU file alone says it of half of them, the breaker opens instead;
 *  - what 30 % of a domain's hosts show (at least 3) is one notice of the domain: its
 *    hosts are not cordoned for it. Fatal ones still are, under budget.domain;
 *  - so is what 30 % of a SKU's hosts with one setting, or half of one job, show (at least 3) and
 *    hardly any host without it: a notice that names the setting or the job;
 *  - a finding that was in such a notice (not in one of fewer than half of a SKU) stays shared
 *    until a day after it was last in one and K of N of its runs since are bad, and as long as
 *    three hosts that were in it together still are; tests before count for nothing;
 *  - as many hosts of a domain as `breaker.alike.nodes`, four times as many as elsewhere, that
 *    newly have the same wait until the others have run (`breaker.alike.per` at most): none of
 *    them is told, tested or cordoned for it so long;
 *  - as soon as one of these hosts has reached its K of N, those that were bad in their last run
 *    count with it: each host runs its tests when it is idle, and waiting until
 *    most have reached theirs would blame them one by one meanwhile;
 *  - a node that is cordoned for a rule of cordon+drain is drained as policy.drain says: one
 *    of a job at a time, and not while another bad one of that job takes work still, nor
 *    before drain.spares idle hosts of its SKU are known for each that is drained;
 *  - a node that somebody else cordoned, that opted out or that is silenced is not
 *    touched; a person's uncordon holds against everything but a newer fatal finding.
 *
 * Order: cordons first: fatal, then the oldest, then by name, and those that people
 * refuse after the others; then what findings ask for, in the same order; then the
 * rest by name. Where the plan of a job says what a good host in place of one gains (blame.h),
 * such hosts swap their turns among themselves so that the largest gain goes first, to be cordoned
 * and to be drained: neither what is fatal nor whoever has no plan has more hosts before him for it.
 * Budgets are given in that order, and what was granted counts for those
 * after it. So executing every decision of one call keeps every budget.
 *
 * The answer is a level, not an edge: until the fleet has changed (policy_begun(),
 * policy_applied(), fleet_event()), the next call says the same. A refused decision comes again
 * each time; record it when (node, refusal.by) is new. Only state changes, `opened`, and a notice's
 * begun and ended_us are told once.
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
	DECIDE_ALERT,  /* tell of one finding that is reached */
	DECIDE_RETEST, /* order a test of one finding */
	DECIDE_DEEP,   /* order a test of all of it: a job blames it, or coverage is due */
	DECIDE_VERIFY, /* order a test of a cordoned node that may be given back */
	DECIDE_HOLD,   /* keep jobs away until hold_until_us, for a test that is due */
	DECIDE_UNHOLD, /* its time is over, or its test */
	DECIDE_CORDON,
	DECIDE_CORDON_DRAIN,
	DECIDE_RELEASE,	 /* lift our cordon */
	DECIDE_DRAIN,	 /* what runs on a cordoned node is to leave */
	DECIDE_VERIFIED, /* never of policy_decide(): the start-up taint, startup.h */
	DECIDE_ACTIONS
};
extern const char
	*const decision_action_names[]; /* "nothing" "alert" ... "cordon+drain" "release" "drain" */

/* The rule of tests that are ordered because a job blames the node. */
#define DECIDE_BLAMED_RULE "attribution"

/* One decision. Texts live as long as the outcome, pointers as long as the fleet stays as it is. */
struct decision {
	struct fleet_node *node;
	struct finding *finding; /* the worst that it is about; NULL: the node */
	int action;		 /* enum decision_action */
	/*
	 * True: do it (mode enforce, nothing refused). Otherwise only tell it; in mode
	 * dry-run also say that it would be done. An alert is told in every mode.
	 */
	bool effect;
	bool fatal;
	bool sticky;	    /* a cordon that only a person ends */
	bool born;	    /* a cordon for a part that always was slow: it counts for jobs.born */
	bool only_ask;	    /* DECIDE_DRAIN: tell it, and evict nothing */
	const char *rule;   /* of the policy; or DECIDE_BLAMED_RULE, "coverage", "release" */
	const char *reason; /* a sentence that names the node */
	const char *evidence; /* "incident 17; gemm.rate of gpu:3; reproduced 2 of 2" */
	const char *partner;  /* DECIDE_RETEST of pairs: a known-good one; NULL: none, or no pair */
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
	char *sentence; /* who, how many, what to look at */
	uint64_t since_us;
	uint64_t ended_us; /* 0: it stands; ended ones are gone at the next call */
	bool begun;	   /* in this call */
	size_t hosts, of;
	size_t ends_below; /* with fewer hosts than this it is over */
	bool stands;	   /* inside */
};

/* A state that changed without an effect: suspected, cleared, verify-failed, settled. */
struct node_change {
	struct fleet_node *node;
	struct life_change change;
};

struct candidate;

/* The answer. Zero it before its first use; its memory is used again by the next call. */
struct outcome {
	struct decision *items; /* in order */
	size_t n, room;
	const struct notice *notices; /* those of the fleet: standing, and ended just now */
	size_t n_notices;
	struct node_change *changes; /* states that changed by this call itself: record them */
	size_t n_changes, room_changes;
	uint64_t again_us; /* time alone lets more be decided then; 0: not that anybody knows */
	bool opened;	   /* the breaker opened in this call: store it, tell it */
	uint64_t out;	   /* nodes unavailable before any of the decisions; of budget.total_max */
	uint64_t wanted;   /* cordons wanted within the storm's time */
	struct budget budget; /* with what was granted in this call */
	struct pool texts;
	struct candidate *candidates; /* inside */
	size_t n_candidates, room_candidates;
};

/*
 * Decide. `policy->mode` must be the effective mode (the more cautious of the
 * option's and the file's). Changes in `fleet` only what it keeps itself
 * (states before the cordon, reached_us, wanted_us, clear_us, notices), and opens `breaker`.
 * O(nodes + findings log findings).
 */
void policy_decide(const struct policy *policy, struct fleet *fleet, struct breaker *breaker,
		   uint64_t now_us, struct outcome *ret);

/*
 * The decision begins: book what the next policy_decide() has to know before it is done, a test
 * that is ordered, or that pods are evicted from now on. `ret->event` is -1 where no state changes.
 * -EINVAL as below.
 */
int policy_begun(struct fleet *fleet, const struct decision *decision, uint64_t now_us,
		 struct life_change *ret, struct err *err);

/*
 * The decision was carried out, all of it: book it (state, marks, rate, hold, record of the part).
 * `ret` may be NULL. -EINVAL when the state no longer allows it; nothing has changed then.
 */
int policy_applied(const struct policy *policy, struct fleet *fleet, struct breaker *breaker,
		   const struct decision *decision, uint64_t now_us, struct life_change *ret,
		   struct err *err);

void outcome_release(struct outcome *o);

/* Nodes whose deep verdict is older than coverage.max_age, the oldest first. */
struct coverage {
	struct fleet_node **due; /* owned array of borrowed nodes */
	size_t n;
};
void coverage_list(const struct policy *policy, const struct fleet *fleet, uint64_t now_us,
		   struct coverage *ret);
void coverage_release(struct coverage *c);
