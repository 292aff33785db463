/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The actor's outside driver: a seed makes a world and a script of events, a controller lives
 * through it on a clock of its own, and what an outsider could see of it becomes text. Two actors
 * that do the same leave the same text.
 *
 * It is a simulation of discrete events. Every delay and every fault is a hash of the seed and of
 * what it is about (draw.h), never the next number of a stream: one request more or less changes
 * nothing for the others, so a difference stays where it is.
 *
 *	main.c   options, one seed after the other	world.c   nodes, policies and the script of
 * a seed life.c   the clock, controllers, kills		field.c   the cluster
 * (controller/cluster/cluster.h) host.c   agents: reports and tests		trace.c   what
 * happened, as lines check.c  what must hold whoever acts		driver_seam.c   the actor:
 * the only file that knows it
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "controller/cluster/cluster.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/policy/policy.h"

enum {
	NODES_MAX = 32,
	CONTROLLERS_MAX = 2,
	FAULTS = 6,	    /* rows of fault_kinds[] */
	SCRIPT_MAX = 96,    /* events of a seed */
	REQUESTS_MAX = 512, /* under way in the cluster, of all controllers */
	PLANS_MAX = 256,    /* things that hosts do later */
	KILLS_MAX = 6,	    /* of one seed */
	NAME_SIZE = 8,
};

#define START_US (1000 * USEC_PER_DAY)

/* Where a controller can be killed: after what is named is durable, before it knows. */
enum point {
	POINT_RECORDED,	      /* the row of an action, decided */
	POINT_RESERVED,	      /* its place stands in the cluster's ledger */
	POINT_RESERVED_KNOWN, /* ... and the actor was told */
	POINT_CONFIRMED,      /* the cluster has said who is out of service */
	POINT_APPLIED,	      /* the node carries it */
	POINT_APPLIED_KNOWN,  /* ... and the actor was told: nothing of that is committed yet */
	POINT_COMPLETED,      /* the row, done */
	POINT_FAILED,	      /* the row, failed */
	POINT_DROPPED,
	POINT_REFUSED,
	POINT_REHEARSED,
	POINT_ORDERED,	   /* a host was told to test itself */
	POINT_ANSWERED,	   /* its report came, and is not committed yet */
	POINT_LEDGER_DONE, /* the ledger says that a node carries it */
	POINT_LISTED,	   /* after a start: the nodes are known, the ledger is not */
	POINT_TAKEN_OVER,  /* after a start: the ledger has the new epoch */
	POINT_UNCOMMITTED, /* just before a commit: all since the last is lost */
	POINT_BETWEEN,	   /* whenever the script says */
	POINTS
};
extern const char *const point_names[];

/* What the script can do; each row of world.c says how often. */
enum event_kind {
	SCRIPT_FAULT,  /* a host gets a fault */
	SCRIPT_CURE,   /* all its faults are gone */
	SCRIPT_STORM,  /* one fault on many hosts */
	SCRIPT_REPORT, /* it reports out of turn */
	SCRIPT_REPLACE_HOST,
	SCRIPT_SILENT, /* some agents report no more for a while */
	SCRIPT_DEAF,   /* its agent answers no orders for a while, or its tests bring nothing */
	SCRIPT_WITH_OTHERS, /* tests with other hosts find it bad or good */
	SCRIPT_ASK_CORDON,
	SCRIPT_ASK_GLASS,
	SCRIPT_ASK_MANY, /* cordons of many hosts at once */
	SCRIPT_ASK_UNCORDON,
	SCRIPT_ASK_HOLD,
	SCRIPT_ASK_OVERRIDE,
	SCRIPT_ASK_SILENCE,
	SCRIPT_ASK_REPAIR_DONE,
	SCRIPT_ASK_RESET,
	SCRIPT_LEAVE,	    /* whoever asked last is gone */
	SCRIPT_HAND_CORDON, /* somebody at the cluster */
	SCRIPT_HAND_RACE,   /* ... just when we are about to take out another one */
	SCRIPT_HAND_UNCORDON,
	SCRIPT_HAND_UNMARK,
	SCRIPT_HAND_OVERRIDE,
	SCRIPT_HAND_UNHOLD,
	SCRIPT_HANDS_OFF, /* another owner works on it, for a while */
	SCRIPT_OPT_OUT,	  /* its label says that it is not managed, for a while */
	SCRIPT_NOT_READY,
	SCRIPT_GONE,	   /* the node goes, and comes back as another */
	SCRIPT_UNVERIFIED, /* somebody sets its start-up taint */
	SCRIPT_JOBS,	   /* jobs begin and end */
	SCRIPT_CUT,	   /* the watch is cut for a while */
	SCRIPT_STOP,	   /* the kill switch, for a while */
	SCRIPT_TROUBLE,	   /* the cluster's answers go wrong for a while */
	SCRIPT_LEDGER_GONE,
	SCRIPT_LEDGER_TOUCHED,
	SCRIPT_POLICY,	   /* it is reloaded */
	SCRIPT_WRONG_FILE, /* half of the hosts contradict their SKU's file */
	SCRIPT_COMMIT_FAILS,
	SCRIPT_RESTART, /* a controller ends in order, or the second one begins */
	SCRIPT_KINDS
};
const char *event_name(enum event_kind kind);

struct event {
	uint64_t at_us;
	enum event_kind kind;
	unsigned node, arg;
	uint64_t for_us;
};

/* What can be wrong with a host. */
struct fault_kind {
	const char *check, *subject, *locality, *code;
	int severity; /* enum severity */
	unsigned k, n;
};
extern const struct fault_kind fault_kinds[FAULTS];

/* What is so with a node for a while. */
enum whiles { WHILE_HANDS_OFF, WHILE_OPTED_OUT, WHILE_NOT_READY, WHILE_GONE, WHILES };

/* A node of the cluster and the host behind it. */
struct node {
	char name[NAME_SIZE];
	struct cluster_node c; /* `version` is of `version` */
	uint64_t version;
	bool exists;
	unsigned incarnation;
	const char *jobs[2];
	size_t n_jobs;
	unsigned evicted; /* rounds that what runs there still takes to leave */
	/* of the host */
	bool faults[FAULTS];
	unsigned replaced;
	uint64_t silent_until_us, deaf_until_us, busy_until_us, report_us; /* it reports next */
	/* What check.c goes by. */
	uint64_t out_us; /* somebody else took it out of service, or it went, last */
	uint64_t in_us;	 /* ... or gave it back */
	uint64_t gone_us;
	uint64_t marked_us;	   /* we did */
	uint64_t passed_us;	   /* it passed a test last */
	uint64_t freed_us;	   /* a person gave it back, here or at the cluster */
	uint64_t repaired_us;	   /* a person said that it is repaired */
	bool glass;		   /* our mark is a person's with a broken glass */
	bool theirs;		   /* somebody else's cordon is on it */
	bool shown_lifted;	   /* a controller was told that our cordon was lifted by hand */
	uint64_t until_us[WHILES]; /* what ends then; 0: nothing */
};

/* What is asked of the cluster. */
enum op {
	OP_CORDON,
	OP_UNCORDON,
	OP_ANNOTATE,
	OP_HOLD,
	OP_VERIFIED,
	OP_EVICT,
	OP_CONDITION,
	OP_JOBS,
	OP_CONFIRM,
	OP_READ,
	OP_WRITE,
	OP_WATCH,
	OP_LIST,
	OPS
};
extern const char *const op_names[];

struct request {
	bool used, served, orphan;
	enum op op;
	unsigned controller;
	uint64_t sent_us, serve_us, answer_us;
	unsigned nth; /* of its kind on this node */
	unsigned node;
	bool dry_run, only_ask, keep_cordon;
	char *version, *text, *by;
	struct cluster_mark *mark;
	uint64_t until_us;
	int healthy;
	enum cluster_result result;
	struct cluster_call call;
	void (*each)(void *context, const struct cluster_node *node);
};

/* What a host does later. */
enum plan_kind { PLAN_NONE, PLAN_POLL, PLAN_ANSWER, PLAN_PAIR };

struct plan {
	enum plan_kind kind;
	uint64_t at_us;
	unsigned node, controller;
	char order[32]; /* of an answer; the partner of a pair */
};

struct driver;
struct seam;
struct store;

/* An action's row, as it stood at the last commit. */
struct row {
	int64_t id;
	unsigned node; /* NODES_MAX: of none */
	unsigned nth;  /* of its node */
	int kind, state;
	bool over, automatic, glass;
	uint64_t decided_us, progress; /* a hash of what changes while it goes on */
	char *name;		       /* "n3#2" */
};

struct controller {
	struct cluster cluster; /* first: what the actor is given */
	struct driver *driver;
	unsigned number;
	char *path; /* of its store */
	struct store *store;
	struct seam *seam; /* NULL: it is not running */
	const struct cluster_watcher *watcher;
	bool synced, stale, kill, fenced;
	unsigned starts, taken; /* how often it began; the last time that it wrote its epoch */
	uint64_t commit_us, start_us; /* due; 0: not */
	uint64_t started_us;
	uint64_t confirmed_us;	     /* the cluster last said who is out of service */
	uint64_t seen[NODES_MAX];    /* version of each node that it was told of; 0: none */
	uint64_t show_us[NODES_MAX]; /* the watch tells of it then; 0: there is no news */
	/* As committed (trace.c). */
	struct row *rows;
	size_t n_rows;
	int64_t last_transition, last_incident;
	struct kept_incident *incidents;
	size_t n_incidents;
	unsigned asks;
	char *used; /* the last line on the budgets */
};

/* What a build or a test changes to see that the driver sees it. */
enum mutant {
	MUTANT_NONE,
	MUTANT_BUDGET, /* the actor goes by a policy that allows more */
	MUTANT_LOST,   /* the cluster says done and has not done it */
	MUTANT_LIFT,   /* another's cordon goes with ours */
	MUTANT_FORGET, /* a start finds no open actions */
	MUTANT_DEAF, /* the actor is not told of commits that were made in the first 10 ms of a second */
	MUTANT_UNRECORDED, /* the cluster is asked before the commit */
	MUTANTS
};
extern const char *const mutant_names[];

struct tally {
	unsigned long long kills[POINTS], events[SCRIPT_KINDS], results[OPS][CLUSTER_AGAIN + 1];
	unsigned long long actions[16][8],
		orders[16][2]; /* by kind and state; by kind: done or not */
	unsigned long long violations, breakers, two;
};

struct driver {
	uint64_t seed;
	bool kills;
	enum mutant mutant;
	const char *directory; /* for stores */
	const char *template;  /* an empty store */
	uint64_t now_us;
	bool ended; /* the script is over: nothing goes wrong any more */

	/* world.c */
	struct node nodes[NODES_MAX];
	unsigned n_nodes, n_controllers;
	bool kube; /* the cluster can do all that one outside can */
	struct policy policies[2];
	unsigned policy;    /* which of them counts */
	uint64_t policy_us; /* since then */
	uint64_t report_every_us, latency_us, lag_us;
	struct event script[SCRIPT_MAX];
	unsigned n_script, script_at;
	enum point focus;

	/* field.c */
	struct cluster_ops ops;
	struct request requests[REQUESTS_MAX];
	unsigned counted[CONTROLLERS_MAX][OPS][NODES_MAX + 1];
	char *ledger;
	uint64_t ledger_version, ledger_lost_us;
	uint64_t cut_until_us, mended_us, stop_until_us, trouble_until_us;
	enum cluster_result trouble;
	bool trouble_nodes; /* of changes of nodes alone, and of all of them */

	/* life.c */
	struct controller controllers[CONTROLLERS_MAX];
	uint64_t tick_us, stirred_us; /* the next tick; something of the script happened last */
	unsigned n_kills, point_nth[POINTS][NODES_MAX + 1];
	bool commit_fails, wrong_file;
	uint64_t seq;

	/* host.c */
	struct plan plans[PLANS_MAX];
	unsigned answers[NODES_MAX];

	/* trace.c, check.c */
	FILE *trace;
	char **lines; /* of this instant */
	size_t n_lines, room_lines;
	uint64_t hash;	      /* of all that became final */
	uint64_t *cordons_us; /* automatic ones that were done: when they were decided */
	size_t n_cordons;
	struct tally *tally;
	unsigned violations;
};

/* "n7" is 7; NODES_MAX when it is no node. */
unsigned driver_node(const struct driver *d, const char *name);
