/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many nodes may be out of service at once, whoever took them out: ours,
 * somebody else's and those that are not ready count alike, each once. Pure.
 *
 *	total	 min(percent of all nodes, at least 1 unless percent is 0; nodes)
 *	domain	 nodes of one value of the label
 *	per_job	 nodes of one job
 *	rate	 automatic cordons in a window (kept by the breaker), counted from the decision;
 *		 those of people have a rate of their own, by account: lib/policy/manual_rate.h
 *	born	 (`jobs.born`) cordons for a part that always was slow, because a job blames it, in a
 *		 window: percent of the hosts of the SKU, rounded down. Counted from the decision
 *		 (node_record.born_us), so that it outlives the cordon and the caller
 *
 * A node that is none for jobs (`outside`: a control plane) counts for none of them.
 * A node that is out already takes nothing more from total, domain and job. What is
 * over budget without us stays so: we then add nothing.
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
	REFUSED_BY_OTHER,     /* somebody else's cordon keeps it out already */
	REFUSED_BY_SILENCE,
	REFUSED_BY_OVERRIDE, /* a person lifted our cordon, or said so */
	REFUSED_BY_TOTAL,
	REFUSED_BY_DOMAIN,
	REFUSED_BY_JOB,
	REFUSED_BY_RATE,
	REFUSED_BY_PERSON,    /* a person must end what a person began, or look first */
	REFUSED_BY_HANDS_OFF, /* another owner is at work on it, or it is none for jobs */
	REFUSED_BY_STALE,     /* what the cluster shows may no longer be so */
	REFUSED_BY_SIBLING,   /* another bad node of the same job takes work still */
	REFUSED_BY_SPARES,    /* its jobs would find no other node */
	REFUSED_BY_MANUAL,    /* whoever asks has cordoned enough for now */
	REFUSED_BY_BORN,      /* a part that always was slow: enough of them were cordoned */
	REFUSED_BY_COUNT
};
/* "" "breaker" "managed" "other-cordon" "silence" "override" "budget.total" "budget.domain" ... */
extern const char *const refused_by_names[];

struct refusal {
	int by;				  /* enum refused_by */
	char sentence[REFUSAL_TEXT_SIZE]; /* which limit, and how full it is */
	char allow[REFUSAL_TEXT_SIZE];	  /* what would allow it */
	uint64_t again_us;		  /* when it may be so by itself; 0: not by time */
};

/* Counts of one moment. Zero it before its first use; it keeps its memory. */
struct budget {
	const struct policy *policy;
	const struct fleet *fleet;
	const struct breaker *breaker;
	uint64_t now_us;
	uint64_t nodes;		    /* those that are for jobs */
	uint64_t out, total_max;    /* unavailable now, and at most */
	uint64_t cordons, rate_max; /* in the window */
	unsigned *domains, *jobs;   /* unavailable, by number */
	size_t room_domains, room_jobs;
	unsigned *hosts, *born; /* of a SKU, by number: all, and those that count for jobs.born */
	size_t room_hosts, room_born;
};

/* Count the fleet: O(nodes). */
void budget_count(struct budget *b, const struct policy *policy, const struct fleet *fleet,
		  const struct breaker *breaker, uint64_t now_us);

/*
 * May one more node be taken out? `cordon`: it also counts for the rate.
 * False fills `ret`.
 */
bool budget_allows(const struct budget *b, const struct fleet_node *node, bool cordon,
		   struct refusal *ret);

/* Take it: later questions see the node as out. */
void budget_take(struct budget *b, const struct fleet_node *node, bool cordon);

/*
 * May it be cordoned for this finding of a part that always was slow, which a job blames? Besides
 * all that budget_allows() asks. A host that was cordoned so within jobs.born.per and is back is
 * not cordoned for it again, and neither is one of a SKU that is not known. False fills `ret`.
 */
bool budget_born_allows(const struct budget *b, const struct fleet_node *node,
			const struct finding *finding, struct refusal *ret);

/* Later questions see it as cordoned so. */
void budget_take_born(struct budget *b, const struct fleet_node *node);

/*
 * Of a node that is out, and counted: is none of the budgets that it takes from over what it may
 * be? The rate is not asked: its place is counted when it is given.
 */
bool budget_holds(const struct budget *b, const struct fleet_node *node);

void budget_release(struct budget *b);

/*
 * All of the fleet that could refuse a person's cordon, the breaker first: for `assayctl cordon`;
 * manual_rate_allows() is asked besides. A person who breaks the glass does not ask. Override and
 * silence do not bind who gave them: only what is automatic asks for those (policy_decide()).
 */
bool budget_cordon_allowed(const struct policy *policy, const struct fleet *fleet,
			   const struct breaker *breaker, const struct fleet_node *node,
			   uint64_t now_us, struct refusal *ret);
