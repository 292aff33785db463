/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the actor share. */
#pragma once

#include <stdint.h>

#include "controller/actions/action.h"
#include "controller/actions/actor.h"
#include "controller/actions/node_record.h"
#include "controller/actions/reservation.h"
#include "controller/cluster/cluster.h"
#include "controller/store/store.h"
#include "lib/base/backoff.h"
#include "lib/base/macro.h"
#include "lib/policy/decide.h"
#include "lib/policy/deny.h"
#include "lib/policy/manual_rate.h"

enum {
	DOINGS_MAX = 4096, /* under way at once; more is decided later */
	TRIES_MAX = 10,	   /* of one effect, then it has failed */
};

/* Where an action is. Each waits for what stands beside it. */
enum phase {
	PHASE_RECORD,  /* a commit: nothing may be touched before it stands in the store */
	PHASE_RESERVE, /* the ledger */
	PHASE_TOUCH,   /* the cluster */
	PHASE_TEST,    /* a report of the host */
	PHASE_END,     /* a commit: then whoever asked is told */
};

/* An action under way. */
struct doing {
	struct doing *next;
	struct act *act;
	int64_t id;
	char *node; /* "" for the breaker */
	int kind;   /* enum action_kind */
	int decision; /* enum decision_action it comes from; DECIDE_NOTHING: a person's, or clean-up */
	char *who, *rule, *reason, *evidence;
	char *check, *subject, *partner; /* of the finding it is about, or NULL */
	char *version; /* of the node it was decided on, or NULL: whatever it is */
	int64_t incident;
	bool break_glass, sticky;
	bool only_ask;	      /* of an eviction: what runs there is only told */
	bool dry_run;	      /* the cluster is only asked whether it would: actor_rehearse.c */
	uint64_t progress_us; /* monotonic: its row last said how far it is */
	bool resumed;	      /* it was under way when a controller ended */
	bool recorded;	      /* its row is durable */
	uint64_t until_us, decided_us;
	uint64_t counted_us; /* its stamp in the breaker; 0: it has none, as a person's */
	int phase;
	uint64_t generation; /* of its place in the ledger */
	uint64_t placed_us;  /* monotonic: when that was last sure */
	unsigned question;   /* reservation_confirmed() */
	struct backoff backoff;
	uint64_t again_us;   /* monotonic: not before */
	uint64_t marked_us;  /* of a cordon: what the mark that was sent last says of its time */
	bool out;	     /* an answer is on its way */
	bool orphan;	     /* the actor has forgotten it: the answer frees it */
	uint64_t offered_us; /* a test: the host was last told, monotonic */
	int end_state;	     /* enum action_state */
	char *end_words;
	unsigned end_status;
	char *end_rule, *end_allows;
	act_told *told;
	void *told_context;
};

/* What is known of a host besides the fleet: as the cluster has it. */
struct act_host {
	char *name;
	struct cluster_node c;
	bool there; /* the cluster has it */
	/* Of reports that came before the cluster told of it; the fleet has them from then on. */
	char *sku;
	uint64_t reported_us, deep_us;
	unsigned replaced; /* machines seen under its name (hosts.h) */
	struct told_refusal {
		int by;			       /* enum refused_by */
		uint64_t refused_us;	       /* monotonic: when it stood last */
	} refused[DECIDE_ACTIONS];	       /* what was recorded last of each kind of decision */
	uint64_t rehearsed_us[DECIDE_ACTIONS]; /* likewise in dry-run */
	struct backoff conflicts, refusals;    /* since it last went well */
	uint64_t again_us;		       /* monotonic: nothing is decided on it before */
	int told;     /* of how it is: what was told last; 0: nothing (node_view_tell()) */
	char *let_in; /* why it admits jobs all the same, or NULL: actor_deny.c */
	struct startup *startup; /* of a host with the start-up taint, or NULL: actor_startup.c */
	unsigned listed;	 /* the last list that named it */
	/* What runs on it (actor_jobs.c), monotonic: */
	uint64_t jobs_us;	/* it was told; 0: it is not known */
	uint64_t jobs_again_us; /* it is not asked before */
	uint64_t jobs_wait_us;	/* a decision waits for it since; 0: none does */
	bool jobs_out;		/* an answer is on its way */
	uint32_t parts;		/* a hash of the serials of its GPUs; 0: not known */
	size_t n_parts;
};

/* What is known of a host with the start-up taint. */
struct startup {
	uint64_t read_us; /* the report that it goes by, as fleet_node.reported_us */
	bool read;
	struct store_tested tested;
	char *told; /* why it stays, as it was recorded; or NULL */
};

/* What a report brought, until the commit. */
struct arrived {
	char *node, *sku, *order_id;
	bool deep;
	uint64_t at_us;
	int outcome; /* enum test_outcome, when it has an order */
};

enum stage {
	STAGE_LISTING, /* the nodes are not known yet */
	STAGE_LEDGER,  /* they are; the ledger is being taken over */
	STAGE_ACTING,
	STAGE_FENCED, /* another controller has taken over: nothing is touched any more */
};

struct act {
	struct act_options options;
	struct cluster_watcher watcher;
	int stage; /* enum stage */
	struct fleet fleet;
	struct reservation places;
	bool stopped;	/* the log says so */
	bool listed;	/* the cluster has named all nodes once */
	unsigned round; /* counts up with each start: answers to an earlier one are stale */
	struct outcome outcome;
	struct doing *doings;
	size_t n_doings;
	void *hosts; /* tree of struct act_host */
	struct arrived *arrived;
	size_t n_arrived;
	bool dirty;
	uint64_t decided_us; /* monotonic; the last time */
	uint64_t again_us;   /* monotonic: more may be decided then; 0: nothing waits */
	uint64_t stale_us;   /* monotonic: since then the nodes are not known for sure */
	struct denials denials;
	struct manual_rate manual;
	uint64_t shared_us; /* monotonic; the last look at what hosts share */
	bool shared_due;    /* a decision was made since, without that look */
	unsigned jobs_out;  /* questions for jobs under way */
	size_t spare_at;    /* the next host that is asked whether it is idle */
	unsigned spares_asked;
	uint64_t spares_us; /* monotonic: the minute in which those were asked */
	bool deny_told;
	bool startup_told, startup_alarm; /* the alarm of actor_startup.c was told; it stands */
	uint64_t startup_open_us; /* monotonic: one was lifted without a pass, the last time; 0: none */
	struct act_counts counts;
	bool stepping;
	unsigned listing; /* counts the lists */
	struct node_records records;
};

static inline uint64_t act_real_us(const struct act *act)
{
	return act->options.real_us(act->options.context);
}

static inline uint64_t act_mono_us(const struct act *act)
{
	return act->options.mono_us(act->options.context);
}

/* --- hosts (actor_nodes.c) --- */

struct act_host *act_host(const struct act *act, const char *node); /* NULL: never heard of */
struct act_host *act_need_host(struct act *act, const char *node);
void act_hosts_release(struct act *act);
void act_each_host(struct act *act, void (*each)(void *context, struct act_host *host),
		   void *context);

/* What of the node the budgets count that is not ours: from the cluster, and what is under way. */
void act_facts(struct act *act, const char *node);

/* Is it out of service whatever is under way on it? */
bool act_out_without(const struct act *act, const struct fleet_node *node);
extern const struct cluster_watcher act_watcher; /* without a context */

/* Compare the node with its record, and see what somebody did meanwhile. */
void act_observe(struct act *act, struct act_host *host);
void act_observe_all(struct act *act);

/* Tell the cluster how the host is, or all are, when that has changed. */
void act_tell_condition(struct act *act, const char *node);
void act_tell_all(struct act *act);

/* --- doings (actor.c) --- */

/* What an action begins with; the rest of it follows. Borrowed. */
struct doing_start {
	const char *node, *who, *rule, *reason, *evidence;
	const char *check, *subject, *partner; /* of the finding it is about, or NULL */
	int64_t incident;
	uint64_t until_us;
	bool break_glass, sticky;
	int decision;
};

/* Write its row and begin; NULL when the store or the list is full. */
struct doing *doing_begin(struct act *act, enum action_kind kind, const struct doing_start *start);

/* Of a row that was under way when the controller ended. */
struct doing *doing_resume(struct act *act, const struct store_action *row);

/* It is over: the row, and after the commit whoever asked. */
void doing_end(struct doing *d, int state, unsigned status, const char *words);

/* The one under way that changes the node; tests and drains are not counted. */
struct doing *doing_of(const struct act *act, const char *node);
struct doing *doing_test_of(const struct act *act, const char *node);
void doing_advance(struct doing *d);

/* What its place in the ledger is called, when it reserves one. */
enum ledger_kind doing_place(const struct doing *d);
void doing_free(struct doing *d);

/* Something that needs no way: a row that is over at once. Its number or 0. */
int64_t act_record(struct act *act, enum action_kind kind, int state,
		   const struct doing_start *start, const char *result);

/* --- effects (actor_touch.c) --- */

bool kind_reserves(int kind);
bool kind_touches(int kind);
void doing_touch(struct doing *d);

/* Ask the cluster for the effect of its kind, as it is: no record, no budget. */
void doing_send(struct doing *d, const struct cluster_call *call);

/* In the mode dry-run: record what would be done, and what the cluster says to it (actor_rehearse.c). */
void act_rehearse(struct act *act, enum action_kind kind, const struct doing_start *start);

/* It did not go well: later, or never. */
void doing_try_again(struct doing *d, const struct cluster_answer *answer);

/* How long to leave alone what the cluster refuses us: at first for seconds, at last for minutes. */
uint64_t doing_refused_us(struct doing *d);

/* Was it decided on what may no longer be so? Then it is over, or waits. */
bool doing_is_void(struct doing *d);

/* It is done: book it, without doing it again. */
void doing_book(struct doing *d);

/* Everything that the store has, into what is empty (actor_resume.c). */
int act_load(struct act *act, struct err *err);

/* What was under way when a controller ended: go on, or give it up (actor_resume.c). */
void act_settle_resumed(struct act *act);

/*
 * Those that had a place in what was just read count for the rate there, and those that were
 * decided here since are counted there.
 */
void act_recall_counted(struct act *act, struct ledger *fresh);

/*
 * The account of a person: by it budget.rate.manual counts. Whom an unnamed token says that it
 * speaks for makes no account: that would be as many as it likes.
 */
const char *act_account(const char *who);

/* What the budgets hold and what of them is used, as of now, into act->counts: O(hosts). */
void act_count_budgets(const struct act *act, struct act_counts *ret);

/* What a row keeps of its reasons: text and finding; and back. */
char *doing_evidence(const struct doing_start *start);
void doing_recall(struct doing *d, const char *evidence);

/* --- drains (actor_drain.c) --- */

struct doing *doing_drain_of(const struct act *act, const char *node);

/* Book that it begins; false: it cannot. */
bool act_drain_begins(struct act *act, const struct decision *one);

/* True: it is not touched, and over where the reason for it is gone. */
bool drain_stops(struct doing *d);
void drain_touch(struct doing *d, const struct cluster_call *call);
int drain_book(struct doing *d, struct err *err);

/* Something is still there: again later, until its deadline. */
void drain_again(struct doing *d, const struct cluster_answer *answer);

/* --- the jobs of hosts (actor_jobs.c) --- */

/*
 * Are the jobs known that the decision hangs on? False: they are being asked for, and it waits.
 * True also when the time for that is over: then what is not known counts as in no job.
 */
bool act_jobs_known(struct act *act, const struct decision *one);

/* Does the cluster know of jobs, and those of this host are not known? */
bool act_jobs_missing(const struct act *act, const char *node);

/* What was known of hosts in service is not true for long. */
void act_jobs_forget(struct act *act);

/* --- the last look (actor_confirm.c) --- */

/* Is its place of the budget still one? False: it is being asked for, or it is over. */
bool act_confirmed(struct doing *d);

/* --- the ledger (actor_ledger.c) --- */

/* The context of a question to the cluster: its answer belongs to the start in which it was asked. */
void *act_asking(struct act *act);

/* The actor it is for, or NULL when it has begun anew since. Frees it. */
struct act *act_asked(void *context);

/* Write what was changed, as soon as may be. */
void act_ledger_flush(struct act *act);
void act_ledger_take_over(struct act *act);

/* Time has passed. */
void act_ledger_tick(struct act *act);

/* Bring it in line with the nodes and what is under way. */
void act_ledger_reconcile(struct act *act);

/* --- what happens to a host (actor.c) --- */

/* Keep its record, where it has changed, with the next commit; of one, of all. */
int act_keep_record(struct act *act, const struct fleet_node *node, struct err *err);
void act_keep_all(struct act *act);

/* Nothing is kept of it any more. */
void act_drop_record(struct act *act, const char *node);

/* Let it happen to the fleet's node, and write down what changed. */
int act_event(struct act *act, const char *node, const struct fleet_cause *cause, struct err *err);
void act_note_change(struct act *act, const struct fleet_node *node,
		     const struct life_change *change);

/* --- findings and decisions (actor_decide.c) --- */

void act_load_findings(struct act *act, const char *node);
void act_decide(struct act *act);
void act_deny(struct act *act, const struct policy *policy); /* actor_deny.c */
char *act_signature(const struct finding *finding); /* of denials: "gpu.xid 79"; new memory */

/* Start-up taints (actor_startup.c). The rules in the records of what was done about them. */
#define STARTUP_RULE "startup"
#define STARTUP_RULE_OPEN "budget.deny"
void act_startup(struct act *act, const struct policy *policy);
void act_startup_reported(struct act *act, const char *node); /* its report is durable */
void startup_free(struct startup *startup);

void act_take_arrived(struct act *act); /* what reports brought, after their commit */
void act_tests_due(struct act *act);	/* those that nobody answers */

/* The cluster has told of a host that reported before (actor_reports.c). */
void act_take_early(struct act *act, struct act_host *host);

/* A test has ended, one way or the other. */
void act_tested(struct act *act, struct doing *test, int outcome, bool deep);
