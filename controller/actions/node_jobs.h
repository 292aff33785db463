/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which jobs run on a host. Nobody watches all pods: the cluster is asked when a cordon or an
 * eviction is decided, for that host and for those that are out of service already; the decision
 * waits for the answer, but not for long. An eviction that wants idle hosts has some more asked,
 * so many a minute. Suspects of jobs are asked four times a minute, and their jobs have ended when
 * none was there for a while: a pod that starts again is gone for a moment.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct actor_env;
struct actor_event;
struct decision;
struct node_view;

/* What is known of those of one host: a part of its struct node_view. Times are monotonic. */
struct host_jobs {
	uint64_t known_us;  /* it was told; 0: it is not known */
	uint64_t again_us;  /* it is not asked before */
	uint64_t wait_us;   /* a decision waits for it since; 0: none does */
	uint64_t wanted_us; /* node_jobs_want() asked last then; 0: never */
	uint64_t gone_us;   /* the cluster knows of none since, where there were some; 0: no */
	bool out;	    /* an answer is on its way */
};

/* Zero it before its first use, and to forget what is under way. */
struct node_jobs {
	unsigned out;	 /* questions under way */
	size_t spare_at; /* the next host that is asked whether it is idle */
	unsigned spares_asked;
	uint64_t spares_us; /* monotonic: the minute in which those were asked */
};

/*
 * Are the jobs known that the decision on the host hangs on? False: they are being asked for, and
 * it waits. True also when the time for that is over: then what is not known counts as in no job.
 */
bool node_jobs_known(struct node_jobs *jobs, const struct actor_env *env, struct node_view *host,
		     const struct decision *one);

/*
 * Somebody wants to know them from now on, and says so again within a minute: they are asked for,
 * and what was told stands until the next answer.
 */
void node_jobs_want(struct node_jobs *jobs, const struct actor_env *env, struct node_view *host);

/* Does the cluster know of jobs, and those of this host are not known? */
bool node_jobs_missing(const struct actor_env *env, const struct node_view *host);

/* The answer (ACTOR_JOBS). */
void node_jobs_answered(struct node_jobs *jobs, const struct actor_env *env,
			const struct actor_event *event);

/* What was known of hosts in service is not true for long. */
void node_jobs_forget(const struct actor_env *env);
