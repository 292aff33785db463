/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What decides becomes what is done. One actor owns every effect on the cluster, whoever asked for
 * it: the policy, assayctl, or somebody with access to the cluster that it finds out about. This is
 * how the controller runs it: what goes in (reports, the cluster, the clock) and what comes out.
 * People's orders are actor_requests.h, what the API shows actor_views.h, the path of an action
 * action.h.
 *
 * Nothing here blocks: what is asked is answered later, when it is durable. All that happens goes
 * through one queue (actor_queue.h); a step of it takes what an event brings, goes on with the
 * actions that can, decides, and writes the ledger.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct actor;
struct blame;
struct cluster;
struct cluster_watcher;
struct err;
struct fleet;
struct policy;
struct report;
struct store;

/* All borrowed, for as long as it is open. */
struct actor_options {
	struct store *store;
	struct cluster *cluster;
	void (*commit_wanted)(void *context); /* something waits for the next commit */
	/*
	 * Nothing was written: actor_committed() is wanted in so long, if no commit comes before.
	 * NULL: it waits for the next tick.
	 */
	void (*wake)(void *context, uint64_t after_us);
	void (*orders_changed)(void *context, const char *node); /* it may have new orders */
	/* The SKU whose file half of its hosts contradict, or NULL; and that it has been looked into. */
	const char *(*wrong_file)(void *context);
	void (*forgive_file)(void *context);
	/* A person says that the node is repaired: how it was is no more. NULL: nobody is told. */
	void (*repaired)(void *context, const char *node);
	/* Which findings of the fleet belong to a notice may have changed. */
	void (*share)(void *context, const struct fleet *fleet);
	uint64_t (*real_us)(void *context);
	uint64_t (*mono_us)(void *context);
	/*
	 * Another controller may have been at it: its places in the ledger stand for so long, though
	 * their nodes do not show them; and ours are renewed when they are half as old. 0: none can.
	 */
	uint64_t keep_us;
	bool blames; /* somebody will say what jobs say: actor_blames_told() */
	/* Another has taken over: nothing is touched any more. NULL: nobody is told. */
	void (*fenced)(void *context);
	/* The policy, with the effective mode: the more cautious of the option's and its own. */
	const struct policy *(*policy)(void *context);
	void *context;
};

/* What came of an order of a person. All borrowed until the callback returns. */
struct actor_reply {
	unsigned status;    /* 200 done; 404, 409, 422, 503 */
	int64_t action;	    /* its number, or 0 */
	const char *rule;   /* what refused: "budget.total", "breaker", "not-ours", ...; or NULL */
	const char *words;  /* one sentence: what was done, or why not */
	const char *allows; /* of a refusal: what would allow it; or NULL */
};
typedef void actor_reply_fn(void *context, const struct actor_reply *reply);

/* What happened since the start, and what is now. */
struct actor_counts {
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

int actor_open(const struct actor_options *options, struct actor **ret_actor, struct err *err);

/*
 * From now on nothing is decided, and no action goes a step on; what the cluster answers is booked,
 * and the ledger written. After ACTOR_LAST_COMMITS commits the embedded cluster has answered all:
 * from its nodes to the ledger, to what had been done before the start, to that in the ledger.
 */
enum { ACTOR_LAST_COMMITS = 6 };

void actor_finish(struct actor *actor);

/* Forget what is under way: the cluster may be closed now, and then this. */
void actor_stop(struct actor *actor);
void actor_close(struct actor *actor);
DEFINE_CLEANUP(struct actor *, actor_close, actor_closep);

/*
 * A report was put into the store; `replaced`: machines seen so far under its name; `unverified`:
 * store_joins.h.
 */
void actor_report(struct actor *actor, const struct report *report, uint64_t at_us,
		  unsigned replaced, bool fresh, bool unverified);

/* The store has committed; go on. */
void actor_committed(struct actor *actor);

/* It could not, and what was put into it is gone: begin anew from what it has. */
void actor_failed(struct actor *actor);

/* Time has passed: what is due is done. Once a second is enough. */
void actor_tick(struct actor *actor);

/* Who decides that we act has decided that we do not: nothing is touched any more. */
void actor_fence(struct actor *actor);

/* The order of a test for the host, when it has to be told now; new reference, or NULL. */
json_t *actor_order(struct actor *actor, const char *node);

/* Is it out of service because of us? The sentence of why, new memory, or NULL. */
char *actor_cordoned(const struct actor *actor, const char *node);

/* Why jobs are admitted although the host refuses them: budget.deny is used up; new memory, or NULL. */
char *actor_let_in(const struct actor *actor, const char *node);

/* Why what the cluster shows may no longer be so, and nothing is decided; NULL: it is. Borrowed. */
const char *actor_stale(const struct actor *actor);

struct actor_counts actor_counts(const struct actor *actor);

/* --- what jobs say of hosts --- */

/*
 * What a job says of the host from now on, copied; NULL: nothing any more. The policy decides on it
 * in its next step. It is kept in memory alone: whoever says it says it again after actor_failed().
 */
void actor_blame(struct actor *actor, const char *node, const struct blame *blame);

/*
 * What was said is all that jobs say: from now on a test that was ordered for a job ends where no
 * job blames its host any more, and so does a hold. Likewise it is to be said again after
 * actor_failed().
 */
void actor_blames_told(struct actor *actor);

/*
 * Which jobs run on the host is to be known: it is asked for, and told by the fleet soon, four
 * times a minute for as long as this is said again. Nothing happens where the cluster knows of no
 * jobs.
 */
void actor_want_jobs(struct actor *actor, const char *node);

/* The hosts as the policy sees them, borrowed until the loop goes on. */
const struct fleet *actor_fleet(const struct actor *actor);

/* --- tests with other hosts --- */

/* False until it knows the cluster and its ledger, early after the start. */
bool actor_knows(const struct actor *actor);

/* Why it cannot be tested with others now, one line, borrowed; NULL: as far as we know it can. */
const char *actor_in_use(const struct actor *actor, const char *node);

/* The labels of the node, borrowed; NULL: there are none. */
const json_t *actor_labels(const struct actor *actor, const char *node);

/* Its address within the cluster, borrowed; NULL: the cluster says none. */
const char *actor_address(const struct actor *actor, const char *node);

/* A pass with a partner. */
struct actor_pass {
	const char *partner;
	bool partner_good;
};

/* A test that the policy wants of a host with another. Borrowed until the loop goes on. */
struct actor_wanted {
	const char *node, *partner, *check;
	bool first; /* it is told for the first time */
};

/* The next one that was not told for a minute; false: there is none. */
bool actor_wants_others(struct actor *actor, struct actor_wanted *ret);

/* What came of it, an enum test_outcome; nothing happens when it is not wanted any more. */
void actor_tested_with_others(struct actor *actor, const char *node, int outcome);

/* What tests with others say of a host. All borrowed. */
struct actor_paired {
	const char *node;
	bool bad; /* else it passed: what stood of the check is over */
	const char *check, *subject, *words;
	double ratio; /* of what others reach; NAN: not known */
	const struct actor_pass *passes;
	size_t n_passes;
};

/*
 * Make a finding of it, in the store's open transaction: each pass is a bad window and, with a
 * partner that is known to be good, a reproduction. The policy decides on it after the commit.
 */
int actor_paired(struct actor *actor, const struct actor_paired *paired, struct err *err);

/* What the cluster tells it, without its context. */
extern const struct cluster_watcher actor_watcher;

/* --- for actor_requests.c and actor_views.c --- */

struct actor_env;

/* What it works on, borrowed. */
const struct actor_env *actor_env(const struct actor *actor);
