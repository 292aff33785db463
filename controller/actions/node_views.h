/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the actor knows about each host: the node as the cluster has it, and what follows from that:
 * the facts in the fleet, the published condition, how long to leave alone a node that others
 * change, and the jobs on it, which the cluster is asked for. What the policy knows is in the
 * fleet. Reading a single node is in node_view.h; out-of-band changes are in out_of_band.h.
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

/* The last recorded decisions on a host, by kind. Times are monotonic. */
struct node_told {
	struct refusal_told {
		int by; /* enum refused_by */
		uint64_t stood_us;
	} refused[DECIDE_ACTIONS];
	uint64_t dry_run_us[DECIDE_ACTIONS];
};

/* Known jobs on one host. Times are monotonic. */
struct host_jobs {
	uint64_t known_us;  /* time of the answer; 0: unknown */
	uint64_t again_us;  /* earliest next request */
	uint64_t wait_us;   /* a decision waits since then; 0: none */
	uint64_t wanted_us; /* last node_views_want_jobs(); 0: never */
	uint64_t gone_us;   /* since when all its jobs are gone; 0: they are not */
	bool out;	    /* waiting for an answer */
};

/* One host. Written only by node_views.c, except for the members that name another file. */
struct node_view {
	char *name;
	struct cluster_node c;
	struct fleet_node *node; /* its fleet entry while `there`; NULL: the fleet is full */
	bool known;	 /* false: it is gone or never existed; kept only for actions in progress */
	bool there;	 /* the cluster has it; false: it has a record, until the first list */
	bool coming;	 /* an action is taking it out of service */
	unsigned listed; /* the last list that named it */
	int told;	 /* condition published last; 0: none (node_view_tell()) */
	struct backoff conflicts, refusals; /* since the last success */
	uint64_t again_us;		    /* monotonic: no decision before */
	struct action *actions;		    /* action.c: those in progress, in the order decided */
	struct host_jobs jobs;
	struct admission admission; /* admissions.c */
	struct node_told recorded;  /* decider.c */
};

/* Requests for the jobs on hosts. */
struct node_jobs {
	unsigned out;	 /* in flight */
	size_t spare_at; /* next host to ask whether it is idle */
	unsigned spares_asked;
	uint64_t spares_us; /* monotonic: start of the minute of `spares_asked` */
};

/* Zero it before first use. */
struct node_views {
	struct map map;
	unsigned listing; /* number of the current list */
	bool listed;	  /* the cluster has listed all nodes once */
	char *label;	  /* label with the domain of nodes: budget.domain; or NULL */
	struct node_jobs jobs;
};

void node_views_release(struct node_views *views);

/* NULL: unknown host. */
struct node_view *node_views_find(const struct node_views *views, const char *node);

/* NULL also if the cluster does not have it. */
struct node_view *node_views_there(const struct node_views *views, const char *node);
struct node_view *node_views_need(struct node_views *views, const char *node);

/*
 * Keep a view for an action in progress; the host need not be known. Undone by node_views_left().
 */
struct node_view *node_views_hold(struct node_views *views, const char *node);

/* No action is in progress on it any more. Returns true if the host is known; if not, frees the
 * view. */
bool node_views_left(struct node_views *views, struct node_view *view);

/* The host is gone: forget all but the actions in progress. */
void node_views_drop(struct node_views *views, struct node_view *view);

/* Known hosts only. */
void node_views_each(const struct node_views *views,
		     void (*each)(void *context, struct node_view *view), void *context);

/* Effect of node_views_put(). `news`: something other than its version changed; `was_ours`: it
 * carried our cordon before. */
struct node_views_change {
	struct node_view *view;
	bool news, was_ours;
};

/* Put in a node from the cluster. Takes the node and zeroes it. */
struct node_views_change node_views_put(const struct actor_env *env, struct cluster_node *node);

/* The list is complete: returns a known host that it did not name; NULL: no more. */
struct node_view *node_views_unlisted(const struct node_views *views);
void node_views_synced(struct node_views *views);

/* --- facts --- */

/* Recompute the facts in the fleet, from the cluster and the actions in progress. */
void node_views_refresh(const struct actor_env *env, const struct node_view *view);
void node_views_refresh_all(const struct actor_env *env);

/* The policy may have been reloaded: recompute where nodes are if its label has changed. */
void node_views_follow_policy(const struct actor_env *env);

/* An action that takes it out of service begins or ends. */
void node_views_set_coming(const struct actor_env *env, struct node_view *view, bool coming);

/* Is it out of service regardless of the actions in progress on it? */
bool node_views_is_out_without(const struct actor_env *env, const struct fleet_node *node);

/* --- the condition --- */

/* Publish the condition of the host, or of all, at the cluster if it has changed. */
void node_views_publish(const struct actor_env *env, struct node_view *view);
void node_views_publish_all(const struct actor_env *env);

/* --- back-off --- */

/* Somebody changed it at the same time as we did: make no decisions on it for a while. */
void node_views_conflict(const struct actor_env *env, struct node_view *view);

/* Returns how long to wait after the cluster refused us: seconds at first, minutes at last. */
uint64_t node_views_refused_us(struct node_view *view);

/* All is well with it: reset the back-off, and log refusals anew. */
void node_views_forgive(struct node_view *view);

/* --- jobs --- */

/*
 * Pods are not watched: when a cordon or an eviction is decided, the cluster is asked for the jobs
 * on that host and on those that are out of service already; the decision waits for the answers,
 * but not for long. For an eviction that needs idle hosts, a limited number of others is asked per
 * minute. Suspects of jobs are asked four times a minute; their jobs count as ended once none was
 * seen for a while, as a restarting pod is gone for a moment.
 *
 * Are the jobs known that the decision on the host depends on? If false, they have been requested
 * and the decision waits. Also true once that wait times out: unknown then counts as no job.
 */
bool node_views_jobs_known(const struct actor_env *env, struct node_view *view,
			   const struct decision *one);

/*
 * Request its jobs from now on; the caller repeats this within a minute. The last answer stands
 * until the next.
 */
void node_views_want_jobs(const struct actor_env *env, struct node_view *view);

/* Does the cluster know jobs, while those of this host are unknown? */
bool node_views_jobs_missing(const struct actor_env *env, const struct node_view *view);

/* The answer (ACTOR_JOBS) for the node. */
void node_views_put_jobs(const struct actor_env *env, const char *node,
			 const struct cluster_answer *answer);

/* Forget the jobs of hosts in service, which change soon. */
void node_views_forget_jobs(const struct actor_env *env);
