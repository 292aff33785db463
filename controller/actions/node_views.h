/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that the actor knows of each host, in one place: the node as the cluster has it, and what
 * follows from that: the facts that the fleet counts, the condition that the cluster is told, and
 * how long to leave alone a node that others change; and which jobs run on it, for which the
 * cluster is asked. What the policy knows of it is the fleet's.
 * What is to be read from one node is node_view.h; what somebody did to it out_of_band.h.
 */
#pragma once

#include <stdint.h>

#include "controller/actions/admissions.h"
#include "controller/cluster/cluster.h"
#include "lib/base/backoff.h"
#include "lib/base/macro.h"
#include "lib/base/map.h"
#include "lib/policy/decide.h"

struct action;
struct actor_env;
struct decision;
struct fleet_node;

/* What was recorded last of decisions on a host, by their kinds. Times are monotonic. */
struct node_told {
	struct refusal_told {
		int by; /* enum refused_by */
		uint64_t stood_us;
	} refused[DECIDE_ACTIONS];
	uint64_t dry_run_us[DECIDE_ACTIONS];
};

/* What is known of the jobs on one host. Times are monotonic. */
struct host_jobs {
	uint64_t known_us;  /* it was told; 0: it is not known */
	uint64_t again_us;  /* it is not asked before */
	uint64_t wait_us;   /* a decision waits for it since; 0: none does */
	uint64_t wanted_us; /* node_views_want_jobs() asked last then; 0: never */
	uint64_t gone_us;   /* the cluster knows of none since, where there were some; 0: no */
	bool out;	    /* an answer is on its way */
};

/* One of them. Read it; only node_views.c writes, but for the members that name another. */
struct node_view {
	char *name;
	struct cluster_node c;
	struct fleet_node *node; /* what the fleet has of it while `there`; NULL: it is full */
	bool known;  /* false: it is gone, or never was; only what is under way on it keeps this */
	bool there;  /* the cluster has it; false: a record of it is kept, until the first list */
	bool coming; /* an action takes it out of service */
	unsigned listed; /* the last list that named it */
	int told;	 /* of how it is: what was told last; 0: nothing (node_view_tell()) */
	struct backoff conflicts, refusals; /* since it last went well */
	uint64_t again_us;		    /* monotonic: nothing is decided on it before */
	struct action *actions;		    /* action.c: those under way on it, as decided */
	struct host_jobs jobs;
	struct admission admission; /* admissions.c */
	struct node_told recorded;  /* decider.c */
};

/* The questions which jobs run on hosts. */
struct node_jobs {
	unsigned out;	 /* under way */
	size_t spare_at; /* the next host that is asked whether it is idle */
	unsigned spares_asked;
	uint64_t spares_us; /* monotonic: the minute in which those were asked */
};

/* Zero it before its first use. */
struct node_views {
	struct map map;
	unsigned listing; /* counts the lists */
	bool listed;	  /* the cluster has named all nodes once */
	char *label;	  /* by which the facts say where nodes are: budget.domain; or NULL */
	struct node_jobs jobs;
};

void node_views_release(struct node_views *views);

/* NULL: never heard of. */
struct node_view *node_views_find(const struct node_views *views, const char *node);

/* NULL also when the cluster does not have it. */
struct node_view *node_views_there(const struct node_views *views, const char *node);
struct node_view *node_views_need(struct node_views *views, const char *node);

/* For what is under way on it: one that need not be known. node_views_left() ends that. */
struct node_view *node_views_hold(struct node_views *views, const char *node);

/* Nothing is under way on it any more; true: it is known, and else it is forgotten here. */
bool node_views_left(struct node_views *views, struct node_view *view);

/* It is gone: all is forgotten but what is under way on it. */
void node_views_drop(struct node_views *views, struct node_view *view);

/* Those that are known. */
void node_views_each(const struct node_views *views,
		     void (*each)(void *context, struct node_view *view), void *context);

/* What was put in when the cluster told of it: `news`, but for its version; it was cordoned by us. */
struct node_views_change {
	struct node_view *view;
	bool news, was_ours;
};

/* The cluster tells of a node; it is taken, and zeroed. */
struct node_views_change node_views_put(const struct actor_env *env, struct cluster_node *node);

/* It has named all: one that it did not, and that is known; NULL: no more. */
struct node_view *node_views_unlisted(const struct node_views *views);
void node_views_synced(struct node_views *views);

/* --- facts --- */

/* Facts of the fleet, anew: from the cluster, and what is under way. */
void node_views_refresh(const struct actor_env *env, const struct node_view *view);
void node_views_refresh_all(const struct actor_env *env);

/* The policy may have been reloaded: where nodes are is looked at anew when it says so. */
void node_views_follow_policy(const struct actor_env *env);

/* An action that takes it out of service begins, or ends. */
void node_views_set_coming(const struct actor_env *env, struct node_view *view, bool coming);

/* Is it out of service whatever is under way on it? */
bool node_views_is_out_without(const struct actor_env *env, const struct fleet_node *node);

/* --- the condition --- */

/* Tell the cluster how the host is, or all are, when that has changed. */
void node_views_publish(const struct actor_env *env, struct node_view *view);
void node_views_publish_all(const struct actor_env *env);

/* --- patience --- */

/* Somebody changed it just when we did: nothing is decided on it for a while. */
void node_views_conflict(const struct actor_env *env, struct node_view *view);

/* How long to leave alone what the cluster refuses us: at first for seconds, at last for minutes. */
uint64_t node_views_refused_us(struct node_view *view);

/* All is as it should be with it: what comes next begins anew, and what is refused is told anew. */
void node_views_forgive(struct node_view *view);

/* --- jobs --- */

/*
 * Nobody watches all pods: the cluster is asked when a cordon or an eviction is decided, for that
 * host and for those that are out of service already; the decision waits for the answer, but not
 * for long. An eviction that wants idle hosts has some more asked, so many a minute. Suspects of
 * jobs are asked four times a minute, and their jobs have ended when none was there for a while: a
 * pod that starts again is gone for a moment.
 *
 * Are the jobs known that the decision on the host hangs on? False: they are being asked for, and
 * it waits. True also when the time for that is over: then what is not known counts as in no job.
 */
bool node_views_jobs_known(const struct actor_env *env, struct node_view *view,
			   const struct decision *one);

/*
 * Somebody wants to know them from now on, and says so again within a minute: they are asked for,
 * and what was told stands until the next answer.
 */
void node_views_want_jobs(const struct actor_env *env, struct node_view *view);

/* Does the cluster know of jobs, and those of this host are not known? */
bool node_views_jobs_missing(const struct actor_env *env, const struct node_view *view);

/* The answer (ACTOR_JOBS) for the node. */
void node_views_put_jobs(const struct actor_env *env, const char *node,
			 const struct cluster_answer *answer);

/* What was known of hosts in service is not true for long. */
void node_views_forget_jobs(const struct actor_env *env);
