/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many nodes may be out of service at once. Nodes with our cordon, with someone else's, and
 * nodes that are not ready count alike, each once. Pure.
 *
 *	total	 min(percent of all nodes, at least 1 unless percent is 0; nodes)
 *	domain	 nodes with the same value of the label
 *	per_job	 nodes of one job
 *	rate	 automatic cordons in a window (kept by the breaker), from the decision on;
 *		 people's cordons have a rate per account: lib/policy/manual_rate.h
 *	born	 (`jobs.born`) cordons for a part that was always slow, because a job blames it, in a
 *		 window: percent of the hosts of the SKU, rounded down. Counted from the decision
 *		 (node_record.born_us), so it outlives the cordon and a restart
 *
 * Nodes that take no jobs (`outside`: a control plane) are not counted. A node that is already out
 * takes nothing more from total, domain and job. If a budget is exceeded without our doing, we only
 * add nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct breaker;
struct finding;
struct fleet;
struct fleet_node;
struct policy;

enum { REFUSAL_TEXT_SIZE = 384 };

enum refused_by {
	REFUSED_BY_NONE,
	REFUSED_BY_BREAKER,
	REFUSED_BY_UNMANAGED, /* the node opted out */
	REFUSED_BY_OTHER,     /* somebody else's cordon already keeps it out */
	REFUSED_BY_SILENCE,
	REFUSED_BY_OVERRIDE, /* a person lifted our cordon, or ordered this */
	REFUSED_BY_TOTAL,
	REFUSED_BY_DOMAIN,
	REFUSED_BY_JOB,
	REFUSED_BY_RATE,
	REFUSED_BY_PERSON,    /* a person must end what a person began, or look first */
	REFUSED_BY_HANDS_OFF, /* another owner is at work on it, or it takes no jobs */
	REFUSED_BY_STALE,     /* the view of the cluster may be out of date */
	REFUSED_BY_SIBLING,   /* another bad node of the same job still takes work */
	REFUSED_BY_SPARES,    /* its jobs would find no other node */
	REFUSED_BY_MANUAL,    /* the account has cordoned enough for now */
	REFUSED_BY_BORN,      /* enough parts that were always slow were cordoned */
	REFUSED_BY_COUNT
};
/* "" "breaker" "managed" "other-cordon" "silence" "override" "budget.total" "budget.domain" ... */
extern const char *const refused_by_names[];

struct refusal {
	int by;				  /* enum refused_by */
	char sentence[REFUSAL_TEXT_SIZE]; /* which limit, and how much of it is used */
	char allow[REFUSAL_TEXT_SIZE];	  /* what would allow it */
	uint64_t again_us; /* when it may pass without intervention; 0: time does not help */
};

/* Counts at one moment. Zero it before its first use; it keeps its memory. */
struct budget {
	const struct policy *policy;
	const struct fleet *fleet;
	const struct breaker *breaker;
	uint64_t now_us;
	uint64_t nodes;		    /* those that take jobs */
	uint64_t out, total_max;    /* unavailable now, and at most */
	uint64_t cordons, rate_max; /* in the window */
	unsigned *domains, *jobs;   /* unavailable, by number of domain or job */
	size_t room_domains, room_jobs;
	unsigned *hosts,
		*born; /* by number of SKU: all hosts, and those that count for jobs.born */
	size_t room_hosts, room_born;
};

/* Counts the fleet. O(nodes). */
void budget_count(struct budget *b, const struct policy *policy, const struct fleet *fleet,
		  const struct breaker *breaker, uint64_t now_us);

/*
 * True if one more node may be taken out; `cordon`: it also counts for the rate. If false, `ret`
 * says why.
 */
bool budget_allows(const struct budget *b, const struct fleet_node *node, bool cordon,
		   struct refusal *ret);

/* Takes it: later calls count the node as out. */
void budget_take(struct budget *b, const struct fleet_node *node, bool cordon);

/*
 * True if it may be cordoned for this finding about a part that was always slow, which a job
 * blames; in addition to budget_allows(). A host that was cordoned for this within jobs.born.per
 * and has returned is not cordoned for it again, nor is a host of unknown SKU. If false, `ret` says
 * why.
 */
bool budget_born_allows(const struct budget *b, const struct fleet_node *node,
			const struct finding *finding, struct refusal *ret);

/* Later calls count it as cordoned for that. */
void budget_take_born(struct budget *b, const struct fleet_node *node);

/*
 * For a node that is out and counted: true if none of its budgets is exceeded. The rate is not
 * checked; it is counted when it is granted.
 */
bool budget_holds(const struct budget *b, const struct fleet_node *node);

void budget_release(struct budget *b);

/*
 * Checks everything in the fleet that can refuse a person's cordon, the breaker first: for
 * `assayctl cordon`, which also checks manual_rate_allows(). Not called with --break-glass.
 * Override and silence only bind automatic decisions (policy_decide()), not people.
 */
bool budget_cordon_allowed(const struct policy *policy, const struct fleet *fleet,
			   const struct breaker *breaker, const struct fleet_node *node,
			   uint64_t now_us, struct refusal *ret);
