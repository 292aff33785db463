/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The actor as the service runs it: what goes in (reports, the cluster, the clock)
 * and what comes out. What others ask of it is in action.h.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct act;
struct cluster;
struct err;
struct fleet;
struct policy;
struct report;
struct store;

/* All borrowed, for as long as it is open. */
struct act_options {
	struct store *store;
	struct cluster *cluster;
	void (*touch)(void *context);		       /* something waits for the next commit */
	void (*look)(void *context, const char *node); /* it may have new orders */
	/* The SKU whose file half of its hosts contradict, or NULL; and that it has been looked into. */
	const char *(*wrong_file)(void *context);
	void (*forgive_file)(void *context);
	/* Which findings of the fleet belong to a notice may have changed. */
	void (*share)(void *context, const struct fleet *fleet);
	uint64_t (*real_us)(void *context);
	uint64_t (*mono_us)(void *context);
	/*
	 * Another controller may have been at it: its places in the ledger stand for so long, though
	 * their nodes do not show them; and ours are renewed when they are half as old. 0: none can.
	 */
	uint64_t keep_us;
	/* Another has taken over: nothing is touched any more. NULL: nobody is told. */
	void (*fenced)(void *context);
	/* The policy, with the effective mode: the more cautious of the option's and its own. */
	const struct policy *(*policy)(void *context);
	void *context;
};

/* What happened since the start, and what is now. */
struct act_counts {
	uint64_t cordons_done, cordons_failed, cordons_dropped, cordons_refused, cordons_rehearsed;
	uint64_t uncordons, overrides_found, tests_ordered, tests_answered, tests_lost;
	uint64_t conflicts, decisions;
	uint64_t decide_us; /* spent in decisions */
	/* now */
	uint64_t under_way, held, cordoned, sticky, overdue, let_in;
	/* Of metrics.c: each budget's in turn. The manual one's is the account's that has most. */
	uint64_t budget_used, budget_limit, rate_used, rate_limit, manual_used, manual_limit;
	bool breaker_open, fenced, stale, stopped;
};

int act_open(const struct act_options *options, struct act **ret_act, struct err *err);

/* Forget what is under way: the cluster may be closed now, and then this. */
void act_stop(struct act *act);
void act_close(struct act *act);
DEFINE_CLEANUP(struct act *, act_close, act_closep);

/* A report was put into the store; `replaced`: machines seen so far under its name. */
void act_report(struct act *act, const struct report *report, uint64_t at_us, unsigned replaced,
		bool fresh);

/* The store has committed; go on. */
void act_committed(struct act *act);

/* It could not, and what was put into it is gone: begin anew from what it has. */
void act_failed(struct act *act);

/* Time has passed: what is due is done. Once a second is enough. */
void act_tick(struct act *act);

/* Who decides that we act has decided that we do not: nothing is touched any more. */
void act_fence(struct act *act);

/* The order of a test for the host, when it has to be told now; new reference, or NULL. */
json_t *act_order(struct act *act, const char *node);

/* Is it out of service because of us? The sentence of why, new memory, or NULL. */
char *act_cordoned(const struct act *act, const char *node);

/* Why jobs are admitted although the host refuses them: budget.deny is used up; new memory, or NULL. */
char *act_let_in(const struct act *act, const char *node);

/* Why what the cluster shows may no longer be so, and nothing is decided; NULL: it is. Borrowed. */
const char *act_stale(const struct act *act);

struct act_counts act_counts(const struct act *act);

/* --- tests with other hosts (actor_paired.c) --- */

/* False until it knows the cluster and its ledger, early after the start. */
bool act_knows(const struct act *act);

/* Why it cannot be tested with others now, one line, borrowed; NULL: as far as we know it can. */
const char *act_in_use(const struct act *act, const char *node);

/* The labels of the node, borrowed; NULL: there are none. */
const json_t *act_labels(const struct act *act, const char *node);

/* Its address within the cluster, borrowed; NULL: the cluster says none. */
const char *act_address(const struct act *act, const char *node);

/* A pass with a partner. */
struct act_pass {
	const char *partner;
	bool partner_good;
};

/* A test that the policy wants of a host with another. Borrowed until the loop goes on. */
struct act_wanted {
	const char *node, *partner, *check;
	bool first; /* it is told for the first time */
};

/* The next one that was not told for a minute; false: there is none. */
bool act_wants_others(struct act *act, struct act_wanted *ret);

/* What came of it, an enum test_outcome; nothing happens when it is not wanted any more. */
void act_tested_with_others(struct act *act, const char *node, int outcome);

/* What tests with others say of a host. All borrowed. */
struct act_paired {
	const char *node;
	bool bad; /* else it passed: what stood of the check is over */
	const char *check, *subject, *words;
	double ratio; /* of what others reach; NAN: not known */
	const struct act_pass *passes;
	size_t n_passes;
};

/*
 * Make a finding of it, in the store's open transaction: each pass is a bad window and, with a
 * partner that is known to be good, a reproduction. The policy decides on it after the commit.
 */
int act_paired(struct act *act, const struct act_paired *paired, struct err *err);
