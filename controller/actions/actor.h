/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns decisions into effects. One actor owns every effect on the cluster, no matter who asked for
 * it: the policy, assayctl, or somebody with access to the cluster whose change it discovers. This
 * is the controller's interface to it: its inputs (reports, the cluster, the clock) and its
 * results. Orders by people are in actor_requests.h, what the API shows in actor_views.h, the life
 * of an action in action.h.
 *
 * Nothing here blocks: a request is answered later, once it is durable. All events go through one
 * queue (actor_queue.h). Each step handles an event, advances the actions that can go on, decides,
 * and writes the ledger.
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

/* All borrowed while the actor is open. */
struct actor_options {
	struct store *store;
	struct cluster *cluster;
	void (*commit_wanted)(void *context); /* something waits for the next commit */
	/*
	 * Nothing was written: call actor_committed() after `after_us`, unless a commit comes
	 * first. NULL: it happens with the next tick.
	 */
	void (*wake)(void *context, uint64_t after_us);
	void (*orders_changed)(void *context, const char *node); /* the node may have new orders */
	/* The SKU whose file half of its hosts contradict, or NULL; and a note that a person has
	 * checked it. */
	const char *(*wrong_file)(void *context);
	void (*forgive_file)(void *context);
	/* A person reports the node as repaired: forget its old baselines. May be NULL. */
	void (*repaired)(void *context, const char *node);
	/* Which findings are shared between hosts, and so belong to a notice, may have changed. */
	void (*share)(void *context, const struct fleet *fleet);
	uint64_t (*real_us)(void *context);
	uint64_t (*mono_us)(void *context);
	/*
	 * Places of another controller in the ledger are respected for this long although their
	 * nodes do not show them; ours are renewed at half that age. 0: there is no other
	 * controller.
	 */
	uint64_t keep_us;
	bool blames; /* actor_blames_told() will be called */
	/* Another controller has taken over: nothing is touched any more. May be NULL. */
	void (*fenced)(void *context);
	/* The policy with the effective mode: the more cautious of the settings' and its own. */
	const struct policy *(*policy)(void *context);
	void *context;
};

/* Result of an order by a person. All borrowed until the callback returns. */
struct actor_reply {
	unsigned status;    /* 200 done; 404, 409, 422, 503 */
	int64_t action;	    /* number of the action, or 0 */
	const char *rule;   /* what refused: "budget.total", "breaker", "not-ours", ...; or NULL */
	const char *words;  /* one sentence: what was done, or why not */
	const char *allows; /* if refused: what would allow it; or NULL */
};
typedef void actor_reply_fn(void *context, const struct actor_reply *reply);

/* Counters since the start, and current values. */
struct actor_counts {
	uint64_t cordons_done, cordons_failed, cordons_dropped, cordons_refused, cordons_rehearsed;
	uint64_t uncordons, overrides_found, tests_ordered, tests_answered, tests_lost;
	uint64_t conflicts, decisions;
	uint64_t decide_us; /* spent on decisions */
	/* current */
	uint64_t under_way, held, cordoned, sticky, overdue, let_in;
	/* For metrics.c, one budget at a time. `manual_` is the account with the most cordons. */
	uint64_t budget_used, budget_limit, rate_used, rate_limit, manual_used, manual_limit;
	bool breaker_open, fenced, stale, stopped;
};

int actor_open(const struct actor_options *options, struct actor **ret_actor, struct err *err);

/*
 * From now on nothing is decided and no action advances; answers from the cluster are still booked,
 * and the ledger is written. After ACTOR_LAST_COMMITS commits the embedded cluster has answered
 * everything: nodes, ledger, what had been done before the start, and its ledger entry.
 */
enum { ACTOR_LAST_COMMITS = 6 };

void actor_finish(struct actor *actor);

/* Forget the actions in progress: after this the cluster may be closed, then the actor. */
void actor_stop(struct actor *actor);
void actor_close(struct actor *actor);
DEFINE_CLEANUP(struct actor *, actor_close, actor_closep);

/*
 * A report was stored. `replaced`: number of machines seen so far under its name; `unverified`:
 * store_joins.h.
 */
void actor_report(struct actor *actor, const struct report *report, uint64_t at_us,
		  unsigned replaced, bool fresh, bool unverified);

/* The store has committed; go on. */
void actor_committed(struct actor *actor);

/* The commit failed and the transaction is lost: start over from the contents of the store. */
void actor_failed(struct actor *actor);

/* Handle whatever is due by time. Calling it once a second is enough. */
void actor_tick(struct actor *actor);

/* Leadership was lost: nothing is touched any more. */
void actor_fence(struct actor *actor);

/* Returns the test order to send to the host now, a new reference, or NULL. */
json_t *actor_order(struct actor *actor, const char *node);

/* Did we take it out of service? Returns the reason as a sentence in new memory, or NULL. */
char *actor_cordoned(const struct actor *actor, const char *node);

/* Returns why jobs are admitted although the host refuses them (budget.deny is used up), in new
 * memory, or NULL. */
char *actor_let_in(const struct actor *actor, const char *node);

/*
 * Returns why the view of the cluster may be stale, so that nothing is decided, or NULL. Borrowed.
 */
const char *actor_stale(const struct actor *actor);

struct actor_counts actor_counts(const struct actor *actor);

/* --- hosts that jobs blame --- */

/*
 * Set what a job blames the host for (copied); NULL: nothing any more. The policy takes it into
 * account in its next step. It is in memory only: after actor_failed() the caller repeats it.
 */
void actor_blame(struct actor *actor, const char *node, const struct blame *blame);

/*
 * All blames have been reported: from now on a test or hold ordered for a job ends once no job
 * blames the host any more. To be repeated after actor_failed(), too.
 */
void actor_blames_told(struct actor *actor);

/*
 * Ask which jobs run on the host. The fleet shows the answer soon, refreshed four times a minute
 * for as long as this call is repeated. Does nothing if the cluster does not know jobs.
 */
void actor_want_jobs(struct actor *actor, const char *node);

/* The hosts as the policy sees them. Borrowed until control returns to the loop. */
const struct fleet *actor_fleet(const struct actor *actor);

/* --- tests between hosts --- */

/* False shortly after the start, until the cluster and its ledger are known. */
bool actor_knows(const struct actor *actor);

/* Returns why the host cannot be tested with others now, one line, borrowed; NULL: as far as is
 * known, it can. */
const char *actor_in_use(const struct actor *actor, const char *node);

/* The labels of the node, borrowed, or NULL. */
const json_t *actor_labels(const struct actor *actor, const char *node);

/* Its address in the cluster, borrowed; NULL if the cluster gives none. */
const char *actor_address(const struct actor *actor, const char *node);

/* A passed test with a partner. */
struct actor_pass {
	const char *partner;
	bool partner_good;
};

/* A test of a host with a partner that the policy wants. Borrowed until control returns to the
 * loop. */
struct actor_wanted {
	const char *node, *partner, *check;
	bool first; /* not returned before */
};

/* Get the next wanted test that was not returned within the last minute. Returns false if there is
 * none. */
bool actor_wants_others(struct actor *actor, struct actor_wanted *ret);

/* Report its outcome, an enum test_outcome. Ignored if the test is no longer wanted. */
void actor_tested_with_others(struct actor *actor, const char *node, int outcome);

/* What tests with other hosts say about a host. All borrowed. */
struct actor_paired {
	const char *node;
	bool bad; /* false: passed, open findings of the check end */
	const char *check, *subject, *words;
	double ratio; /* relative to what other hosts reach; NAN: unknown */
	const struct actor_pass *passes;
	size_t n_passes;
};

/*
 * Turn it into a finding in the store's open transaction: each pass counts as a bad window and, if
 * the partner is known to be good, as a reproduction. The policy decides on it after the commit.
 */
int actor_paired(struct actor *actor, const struct actor_paired *paired, struct err *err);

/* Receives the cluster's notifications; the context is filled in by the actor. */
extern const struct cluster_watcher actor_watcher;

/* --- for actor_requests.c and actor_views.c --- */

struct actor_env;

/* Its environment, borrowed. */
const struct actor_env *actor_env(const struct actor *actor);
