/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An action under way: its row in the store, and the list of them.
 *
 *	decided --> recorded --> reserved --> done on the node --> recorded
 *	            (store)      (ledger)     (cluster)            (store, ledger)
 *
 * Invariants:
 *  - nothing is touched before it stands in the store with who, why and evidence, and
 *    nothing takes a host out of service before the ledger has its place;
 *  - whatever was killed in between is found out at the next start from the node itself:
 *    done and not recorded is recorded, reserved and not done is given back;
 *  - another's cordon is never lifted, a person's uncordon is an order;
 *  - every way back into service is the same one (effect.c).
 *
 * Here an action begins, is answered by the cluster, and ends; what takes it from one phase to the
 * next is action_step.h.
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

enum { ACTIONS_MAX = 4096 }; /* under way at once; more is decided later */

/* Where an action is. Each waits for what stands beside it. */
enum action_phase {
	PHASE_RECORD,  /* a commit: nothing may be touched before it stands in the store */
	PHASE_RESERVE, /* the ledger */
	PHASE_APPLY,   /* the cluster */
	PHASE_TEST,    /* a report of the host */
	PHASE_END,     /* a commit: then whoever asked is told */
};

struct action {
	struct action *next, *next_of_host;
	struct node_view *host; /* whom it is about, as long as it is under way; NULL: nobody */
	/* What its row says. */
	int64_t id;
	char *node; /* "" for the breaker */
	int kind;   /* enum action_kind */
	int decision; /* enum decision_action it comes from; DECIDE_NOTHING: a person's, or clean-up */
	char *who, *rule, *reason, *evidence;
	char *check, *subject, *partner; /* of the finding it is about, or NULL */
	int64_t incident;
	bool break_glass, sticky;
	uint64_t until_us, decided_us;
	/* Where it is: action_step.c. */
	enum action_phase phase;
	char *version;	     /* of the node it was decided on, or NULL: whatever it is */
	bool resumed;	     /* it was under way when a controller ended */
	bool recorded;	     /* its row is durable */
	uint64_t counted_us; /* its stamp in the breaker; 0: it has none, as a person's */
	uint64_t generation; /* of its place in the ledger */
	uint64_t placed_us;  /* monotonic: when that was last sure */
	unsigned question;   /* reservation_confirmed() */
	struct backoff backoff;
	uint64_t again_us;  /* monotonic: not before */
	uint64_t marked_us; /* of a cordon: what the mark that was sent last says of its time */
	uint64_t lifts_us;  /* of an uncordon: the time of the mark that is to go, none younger */
	bool out;	    /* an answer is on its way */
	bool dry_run;	    /* the cluster is only asked whether it would: action_begin_dry_run() */
	char *said;	    /* what the cluster last said of it, or NULL */
	/* Of an eviction: drain.c. */
	bool only_ask;	      /* what runs there is only told */
	char *progress;	      /* what its row last said of how far it is, or NULL */
	uint64_t progress_us; /* monotonic: when */
	/* Of a test: retest.c. */
	char *profile;	     /* that is asked for, a rung; NULL: full */
	uint64_t offered_us; /* the host was last told, monotonic */
	/* How it ended, and who is told. */
	int end_state; /* enum action_state */
	unsigned end_status;
	char *end_words, *end_rule, *end_allows;
	actor_reply_fn *reply;
	void *reply_context;
};

/* Those under way, in the order of the decisions. Zero it before its first use. */
struct actions {
	struct action *first;
	size_t n;
	struct action *dry_runs;   /* of which the cluster has not said yet whether it would */
	struct manual_rate manual; /* cordons of people: budget.rate.manual */
};

/* Who does what is found done at the cluster itself. */
#define WHO_AT_CLUSTER "someone with access to the cluster"

/* What an action begins with. Borrowed. */
struct action_start {
	const char *node, *who, *rule, *reason, *evidence;
	const char *check, *subject, *partner; /* of the finding it is about, or NULL */
	int64_t incident;
	uint64_t until_us;
	bool break_glass, sticky;
	int decision;
	const char *profile; /* of a test of a whole host: a rung; NULL: full, or no such test */
	const char *key;     /* of a person's request, or NULL */
};

/* Write its row and begin; NULL when the store or the list is full. `host`: NULL: of none. */
struct action *action_begin(const struct actor_env *env, struct node_view *host,
			    enum action_kind kind, const struct action_start *start);

/* Something that is over at once: its row. Its number or 0. */
int64_t action_record(const struct actor_env *env, enum action_kind kind, enum action_state state,
		      const struct action_start *start, const char *result);

/* --- the cluster's answers --- */

/* What follows from an answer for whoever takes the action on. */
enum action_answer {
	ACTION_ANSWER_DONE,  /* it is done: book it */
	ACTION_ANSWER_WAITS, /* it takes its time: `said` says what is still there */
	ACTION_ANSWER_TAKEN, /* nothing: it is over, or is tried again later */
};

/* The answer to its effect, for which it waits (ACTOR_APPLIED). */
enum action_answer action_answered(const struct actor_env *env, struct action *a,
				   const struct cluster_answer *answer);

/* The last look did not succeed: what waits for it is tried again, or has failed. */
void actions_not_confirmed(const struct actor_env *env, const struct cluster_answer *answer);

/*
 * Of the mode dry-run: keep what is asked and not meant until its answer (ACTOR_TRIED); `id` is of
 * its row. Nothing of it is booked: no place, no rate. `host` is known while it is being sent.
 */
struct action *action_begin_dry_run(const struct actor_env *env, struct node_view *host,
				    enum action_kind kind, const struct action_start *start,
				    int64_t id);

/* The row says from now on whether the cluster would accept it. */
void action_dry_run_answered(const struct actor_env *env, int64_t id,
			     const struct cluster_answer *answer);

/* --- the end --- */

/* It is over: the row, and after the commit whoever asked is told so, but for its number. */
void action_end_told(const struct actor_env *env, struct action *a, enum action_state state,
		     const struct actor_reply *told);

/* The same where nothing refused it. */
void action_end(const struct actor_env *env, struct action *a, enum action_state state,
		unsigned status, const char *words);

/* Tell whoever asked for it, and forget it. Its host; NULL: it has none, or that is gone. */
struct node_view *action_leave(const struct actor_env *env, struct action *a);

/* --- which --- */

/* The one under way that changes the node; tests and drains are not counted. */
struct action *actions_of(const struct node_view *host);
struct action *actions_test_of(const struct node_view *host); /* NULL: there is no such host */
struct action *actions_drain_of(const struct node_view *host);
struct action *actions_find(const struct actions *actions, int64_t id);

/* What its place in the ledger is called, when it reserves one; and has it one, or asks for it? */
enum ledger_kind action_place(const struct action *a);
bool action_has_place(const struct action *a);

/* Is it a cordon whose decision counts for jobs.born? */
bool action_is_born(const struct actor_env *env, const struct action *a);

/* Did the policy decide it? Else a person has, or it is clean-up. */
bool action_is_by_policy(const struct action *a);

/* Does one of the kind (enum action_kind) take its time? Then what is not done has not failed. */
bool action_takes_time(int kind);

/* Does one of the kind (enum action_kind) take its host out of service? It takes a place before. */
bool action_reserves(int kind);

/*
 * The account of a person: by it budget.rate.manual counts. Whom an unnamed token says that it
 * speaks for makes no account: that would be as many as it likes.
 */
const char *action_account(const char *who);

/* --- all of them --- */

/* Those that the store has, into an empty list, and the cordons of people that still count. */
int actions_load(const struct actor_env *env, struct err *err);

/*
 * Those that had a place in the ledger that was just read count for the rate there, and those that
 * were decided here since are counted there.
 */
void actions_recall_counted(struct actions *actions, struct ledger *fresh);

/* What was written down so far is durable now. */
void actions_note_recorded(struct actions *actions);

/* Whoever asked with this context is gone: it is done all the same, and nobody told. */
void actions_forget_asker(struct actions *actions, const void *context);

/* The store has forgotten them: whoever asked is told so. */
void actions_release(struct actions *actions);
