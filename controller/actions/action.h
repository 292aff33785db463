/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An action in progress: its row in the store, and the list of all actions in progress.
 *
 *   decided --> recorded --> reserved --> done on the node --> recorded
 *               (store)      (ledger)     (cluster)            (store, ledger)
 *
 * Invariants:
 * - nothing is touched before the store has a row with who, why and the evidence, and no host is
 *   taken out of service before the ledger has its place;
 * - if the controller was killed in between, the next start learns the outcome from the node
 *   itself: what was done but not recorded is recorded, a place reserved without effect is given
 *   back;
 * - a cordon by somebody else is never lifted, and an uncordon by a person is an order;
 * - there is only one way back into service (effect.c).
 *
 * This file has the beginning of an action, the cluster's answer to it, and its end; action_step.h
 * takes it from one phase to the next.
 */
#pragma once

#include <stdint.h>

#include "controller/actions/actor.h"
#include "controller/cluster/ledger.h"
#include "controller/store/store_actions.h"
#include "lib/base/backoff.h"
#include "lib/base/macro.h"
#include "lib/policy/manual_rate.h"

struct actor_env;
struct cluster_answer;
struct err;
struct node_view;

enum { ACTIONS_MAX = 4096 }; /* in progress at once; further ones are decided later */

/* Where an action is. Each phase waits for what is named beside it. */
enum action_phase {
	PHASE_RECORD,  /* a commit: nothing may be touched before it stands in the store */
	PHASE_RESERVE, /* the ledger */
	PHASE_APPLY,   /* the cluster's answer */
	PHASE_TEST,    /* a report from the host */
	PHASE_END,     /* a commit, after which whoever asked is answered */
};

struct action {
	struct action *next, *next_of_host;
	struct node_view *host; /* the host it concerns, while in progress; NULL: none */
	/* Contents of its row. */
	int64_t id;
	char *node; /* "" for the breaker */
	int kind;   /* enum action_kind */
	int decision; /* the enum decision_action it comes from; DECIDE_NOTHING: a person or clean-up */
	char *who, *rule, *reason, *evidence;
	char *check, *subject, *partner; /* of the finding it concerns, or NULL */
	int64_t incident;
	bool break_glass, sticky;
	uint64_t until_us, decided_us;
	/* Its progress: action_step.c. */
	enum action_phase phase;
	char *version;	     /* node version the decision was based on; NULL: any */
	bool resumed;	     /* it was in progress when a controller stopped */
	bool recorded;	     /* its row is durable */
	uint64_t counted_us; /* its timestamp in the breaker; 0: not counted, as for a person's action */
	uint64_t generation; /* of its place in the ledger */
	uint64_t placed_us;  /* monotonic: when the place was last known to stand */
	unsigned question;   /* see reservation_confirmed() */
	struct backoff backoff;
	uint64_t again_us;  /* monotonic: earliest next attempt */
	uint64_t marked_us; /* cordon: the time in the mark sent last */
	uint64_t lifts_us;  /* uncordon: time of the mark to remove; a newer mark stays */
	bool out;	    /* waiting for an answer */
	bool dry_run;	    /* the cluster only validates it: action_begin_dry_run() */
	char *said;	    /* the cluster's last message about it, or NULL */
	/* Evictions: drain.c. */
	bool only_ask;	      /* the jobs are only notified */
	char *progress;	      /* progress text last written to its row, or NULL */
	uint64_t progress_us; /* monotonic: when `progress` was written */
	/* Tests: retest.c. */
	char *profile;	     /* profile asked for (a rung); NULL: full */
	uint64_t offered_us; /* when the host was last given the order, monotonic */
	/* How it ended, and who is to be answered. */
	int end_state; /* enum action_state */
	unsigned end_status;
	char *end_words, *end_rule, *end_allows;
	actor_reply_fn *reply;
	void *reply_context;
};

/* Actions in progress, in the order they were decided. Zero it before first use. */
struct actions {
	struct action *first;
	size_t n;
	struct action *dry_runs;   /* waiting for the cluster's verdict */
	struct manual_rate manual; /* cordons by people: budget.rate.manual */
};

/* `who` of changes made at the cluster itself. */
#define WHO_AT_CLUSTER "someone with access to the cluster"

/* Arguments for a new action. Borrowed. */
struct action_start {
	const char *node, *who, *rule, *reason, *evidence;
	const char *check, *subject, *partner; /* of the finding it concerns, or NULL */
	int64_t incident;
	uint64_t until_us;
	bool break_glass, sticky;
	int decision;
	const char *profile; /* rung of a test of a whole host; NULL: full, or not such a test */
	const char *key;     /* of a person's request, or NULL */
};

/* Write its row and begin. Returns NULL if the store failed or the list is full. `host` may be
 * NULL. */
struct action *action_begin(const struct actor_env *env, struct node_view *host,
			    enum action_kind kind, const struct action_start *start);

/* Write the row of an action that is complete at once. Returns its number, or 0. */
int64_t action_record(const struct actor_env *env, enum action_kind kind, enum action_state state,
		      const struct action_start *start, const char *result);

/* --- the cluster's answers --- */

/* What the caller has to do after the cluster's answer. */
enum action_answer {
	ACTION_ANSWER_DONE,  /* done: book it */
	ACTION_ANSWER_WAITS, /* takes time: `said` names what is still there */
	ACTION_ANSWER_TAKEN, /* nothing: it has ended, or will be retried */
};

/* Handle the cluster's answer to its effect (ACTOR_APPLIED). */
enum action_answer action_answered(const struct actor_env *env, struct action *a,
				   const struct cluster_answer *answer);

/* Confirming who is out of service failed: retry or fail the actions that wait for it. */
void actions_not_confirmed(const struct actor_env *env, const struct cluster_answer *answer);

/*
 * In dry-run mode: keep the request until its answer arrives (ACTOR_TRIED); `id` is that of its
 * row. It takes no place and does not count for the rate. `host` must be known while it is sent.
 */
struct action *action_begin_dry_run(const struct actor_env *env, struct node_view *host,
				    enum action_kind kind, const struct action_start *start,
				    int64_t id);

/* Record whether the cluster would accept it. */
void action_dry_run_answered(const struct actor_env *env, int64_t id,
			     const struct cluster_answer *answer);

/* --- the end --- */

/* End it: write the row, and after the commit answer whoever asked with `told`, except for the
 * number, which is filled in. */
void action_end_told(const struct actor_env *env, struct action *a, enum action_state state,
		     const struct actor_reply *told);

/* As action_end_told(), if no rule refused it. */
void action_end(const struct actor_env *env, struct action *a, enum action_state state,
		unsigned status, const char *words);

/* Answer whoever asked for it, and free it. Returns its host; NULL: it has none, or it is gone. */
struct node_view *action_leave(const struct actor_env *env, struct action *a);

/* --- lookup --- */

/* The action in progress that changes the node; tests and drains do not count. */
struct action *actions_of(const struct node_view *host);
struct action *actions_test_of(const struct node_view *host); /* NULL: no such host */
struct action *actions_drain_of(const struct node_view *host);
struct action *actions_find(const struct actions *actions, int64_t id);

/* Ledger kind of its place, if it reserves one; and whether it has a place or is asking for one. */
enum ledger_kind action_place(const struct action *a);
bool action_has_place(const struct action *a);

/* Is it a cordon whose decision counts for jobs.born? */
bool action_is_born(const struct actor_env *env, const struct action *a);

/* Was it decided by the policy, not by a person or clean-up? */
bool action_is_by_policy(const struct action *a);

/* Does this kind (enum action_kind) take time, so that "not done yet" is not a failure? */
bool action_takes_time(int kind);

/* Does this kind (enum action_kind) take its host out of service? Then it takes a place first. */
bool action_reserves(int kind);

/*
 * Returns the account that budget.rate.manual counts a person's actions for. A name claimed through
 * an unnamed token is not an account of its own: a caller could invent any number of them.
 */
const char *action_account(const char *who);

/* --- all actions --- */

/* Load the stored actions into an empty list, and the cordons by people that still count. */
int actions_load(const struct actor_env *env, struct err *err);

/*
 * Synchronize the rate counts with the ledger just read: actions with a place in it are counted
 * there already, and those decided here since are added to it.
 */
void actions_recall_counted(struct actions *actions, struct ledger *fresh);

/* All rows written so far are durable. */
void actions_note_recorded(struct actions *actions);

/* Whoever asked with this context is gone: the actions go on, but nobody is answered. */
void actions_forget_asker(struct actions *actions, const void *context);

/* The store has lost them: whoever asked is told so. */
void actions_release(struct actions *actions);
