/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A black-box driver of the actor: a seed generates a world and a script of events, a controller
 * runs through it on a simulated clock, and its externally visible behaviour is recorded as text.
 * Two actors that behave the same produce the same text.
 *
 * It is a discrete-event simulation. Every delay and every fault is a hash of the seed and of its
 * subject (draw.h), never the next number of a stream: one request more or less does not affect the
 * others, so differences stay local.
 *
 *	main.c         options, runs the seeds
 *	world.c        nodes, policies and the script of a seed
 *	life.c         the clock, controllers, kills
 *	field.c        the cluster (controller/cluster/cluster.h)
 *	host.c         agents: reports and tests
 *	trace.c        the trace
 *	check.c        the invariants
 *	driver_seam.c  the interface to the actor
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
	REQUESTS_MAX = 512, /* pending in the cluster, of all controllers */
	PLANS_MAX = 256,    /* pending actions of hosts */
	KILLS_MAX = 6,	    /* per seed */
	NAME_SIZE = 8,
};

#define START_US (1000 * USEC_PER_DAY)

/* Where a controller can be killed: after the event is durable, before the controller knows. */
enum point {
	POINT_RECORDED,	      /* the row of a decided action */
	POINT_RESERVED,	      /* its reservation is in the cluster's ledger */
	POINT_RESERVED_KNOWN, /* ... and the actor knows */
	POINT_CONFIRMED,      /* the cluster has listed the nodes out of service */
	POINT_APPLIED,	      /* it is applied to the node */
	POINT_APPLIED_KNOWN,  /* ... and the actor knows, but has not committed it */
	POINT_COMPLETED,      /* its row says done */
	POINT_FAILED,	      /* its row says failed */
	POINT_DROPPED,
	POINT_REFUSED,
	POINT_REHEARSED,
	POINT_ORDERED,	   /* a host was ordered to test itself */
	POINT_ANSWERED,	   /* its report arrived, and is not committed yet */
	POINT_LEDGER_DONE, /* the ledger says that it is applied to the node */
	POINT_LISTED,	   /* after a start: the nodes are known, the ledger is not */
	POINT_TAKEN_OVER,  /* after a start: the ledger has the new epoch */
	POINT_UNCOMMITTED, /* just before a commit: all changes since the last are lost */
	POINT_BETWEEN,	   /* at any time the script chooses */
	POINTS
};
extern const char *const point_names[];

/* Events of the script; world.c has their frequencies. */
enum event_kind {
	SCRIPT_FAULT,  /* a host gets a fault */
	SCRIPT_CURE,   /* all its faults end */
	SCRIPT_STORM,  /* one fault on many hosts */
	SCRIPT_REPORT, /* an extra report */
	SCRIPT_REPLACE_HOST,
	SCRIPT_SILENT, /* some agents stop reporting for a while */
	SCRIPT_DEAF,   /* its agent ignores orders for a while, or its tests are inconclusive */
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
	SCRIPT_LEAVE,	    /* the client of the last request disconnects */
	SCRIPT_HAND_CORDON, /* by a person at the cluster */
	SCRIPT_HAND_RACE,   /* ... just as we are about to cordon another node */
	SCRIPT_HAND_UNCORDON,
	SCRIPT_HAND_UNMARK,
	SCRIPT_HAND_OVERRIDE,
	SCRIPT_HAND_UNHOLD,
	SCRIPT_HANDS_OFF, /* another owner works on it for a while */
	SCRIPT_OPT_OUT,	  /* its opt-out label is set for a while */
	SCRIPT_NOT_READY,
	SCRIPT_GONE,	   /* the node is deleted and comes back with another uid */
	SCRIPT_UNVERIFIED, /* its start-up taint is set */
	SCRIPT_JOBS,	   /* jobs begin and end */
	SCRIPT_CUT,	   /* the watch is cut for a while */
	SCRIPT_STOP,	   /* the kill switch is set for a while */
	SCRIPT_TROUBLE,	   /* the cluster's requests fail for a while */
	SCRIPT_LEDGER_GONE,
	SCRIPT_LEDGER_TOUCHED,
	SCRIPT_POLICY,	   /* the policy is reloaded */
	SCRIPT_WRONG_FILE, /* half of the hosts contradict their SKU file */
	SCRIPT_COMMIT_FAILS,
	SCRIPT_RESTART, /* a controller shuts down cleanly, or the second one starts */
	SCRIPT_KINDS
};
const char *event_name(enum event_kind kind);

struct event {
	uint64_t at_us;
	enum event_kind kind;
	unsigned node, arg;
	uint64_t for_us;
};

/* A fault of a host. */
struct fault_kind {
	const char *check, *subject, *locality, *code;
	int severity; /* enum severity */
	unsigned k, n;
};
extern const struct fault_kind fault_kinds[FAULTS];

/* Temporary conditions of a node. */
enum whiles { WHILE_HANDS_OFF, WHILE_OPTED_OUT, WHILE_NOT_READY, WHILE_GONE, WHILES };

/* A node of the cluster and the host behind it. */
struct node {
	char name[NAME_SIZE];
	struct cluster_node c; /* its `version` is printed from `version` below */
	uint64_t version;
	bool exists;
	unsigned incarnation;
	const char *jobs[2];
	size_t n_jobs;
	unsigned evicted; /* drain rounds until its pods are gone */
	/* of the host */
	bool faults[FAULTS];
	unsigned replaced;
	uint64_t silent_until_us, deaf_until_us, busy_until_us, report_us; /* next report */
	/* Used by check.c. */
	uint64_t out_us; /* last time another owner took it out of service, or it was deleted */
	uint64_t in_us;	 /* ... or returned it */
	uint64_t gone_us;
	uint64_t marked_us;	   /* when we cordoned it */
	uint64_t passed_us;	   /* last passed test */
	uint64_t freed_us;	   /* when a person uncordoned it, here or at the cluster */
	uint64_t repaired_us;	   /* when a person declared it repaired */
	bool glass;		   /* our mark is from a person who bypassed the budgets */
	bool theirs;		   /* another owner's cordon is on it */
	bool shown_lifted;	   /* a controller has seen that our cordon was lifted by hand */
	uint64_t until_us[WHILES]; /* end of each condition; 0: not active */
};

/* Requests to the cluster. */
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

/* Pending actions of a host. */
enum plan_kind { PLAN_NONE, PLAN_POLL, PLAN_ANSWER, PLAN_PAIR };

struct plan {
	enum plan_kind kind;
	uint64_t at_us;
	unsigned node, controller;
	char order[32]; /* PLAN_ANSWER: the order; PLAN_PAIR: the partner */
};

struct driver;
struct seam;
struct store;

/* An action's row as of the last commit. */
struct row {
	int64_t id;
	unsigned node; /* NODES_MAX: no node */
	unsigned nth;  /* counts per node */
	int kind, state;
	bool over, automatic, glass;
	uint64_t decided_us, progress; /* progress: a hash of the fields that change */
	char *name;		       /* "n3#2" */
};

struct controller {
	struct cluster cluster; /* first: the actor's pointer is cast back */
	struct driver *driver;
	unsigned number;
	char *path; /* of its store */
	struct store *store;
	struct seam *seam; /* NULL: it is not running */
	const struct cluster_watcher *watcher;
	bool synced, stale, kill, fenced;
	unsigned starts, taken;	      /* taken: the value of starts when it last wrote its epoch */
	uint64_t commit_us, start_us; /* when due; 0: not */
	uint64_t started_us;
	uint64_t confirmed_us;	     /* when the cluster last listed the nodes out of service */
	uint64_t seen[NODES_MAX];    /* version of each node that it has seen; 0: none */
	uint64_t show_us[NODES_MAX]; /* when the watch reports the node; 0: nothing new */
	/* The committed state (trace.c). */
	struct row *rows;
	size_t n_rows;
	int64_t last_transition, last_incident;
	struct kept_incident *incidents;
	size_t n_incidents;
	unsigned asks;
	char *used; /* the last trace line on the budgets */
};

/* Deliberate bugs, to test that the driver detects them. */
enum mutant {
	MUTANT_NONE,
	MUTANT_BUDGET,	   /* the actor uses a policy that allows more */
	MUTANT_LOST,	   /* the cluster reports success without doing it */
	MUTANT_LIFT,	   /* lifting our cordon also lifts another owner's */
	MUTANT_FORGET,	   /* a start finds no open actions */
	MUTANT_DEAF,	   /* the actor misses commits in the first 10 ms of a second */
	MUTANT_UNRECORDED, /* the request is sent before the commit */
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
	bool ended; /* the script is over: no more faults */

	/* world.c */
	struct node nodes[NODES_MAX];
	unsigned n_nodes, n_controllers;
	bool kube; /* the cluster has all capabilities of an external one */
	struct policy policies[2];
	unsigned policy;    /* index of the current one */
	uint64_t policy_us; /* when it was loaded */
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
	bool trouble_nodes; /* only changes of nodes fail, and all of them do */

	/* life.c */
	struct controller controllers[CONTROLLERS_MAX];
	uint64_t tick_us, stirred_us; /* the next tick; the last event of the script */
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
	uint64_t hash;	      /* of all final lines */
	uint64_t *cordons_us; /* when the completed automatic cordons were decided */
	size_t n_cordons;
	struct tally *tally;
	unsigned violations;
};

/* Returns 7 for "n7", or NODES_MAX if there is no such node. */
unsigned driver_node(const struct driver *d, const char *name);
