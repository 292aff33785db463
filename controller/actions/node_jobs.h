/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which jobs run on a host. Nobody watches all pods: the cluster is asked when a cordon or an
 * eviction is decided, for that host and for those that are out of service already; the decision
 * waits for the answer, but not for long. An eviction that wants idle hosts has some more asked,
 * so many a minute.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/base/map.h"

struct actor_env;
struct actor_event;
struct decision;

/* Zero it before its first use. */
struct node_jobs {
	struct map hosts; /* of struct host_jobs */
	unsigned out;	  /* questions under way */
	size_t spare_at;  /* the next host that is asked whether it is idle */
	unsigned spares_asked;
	uint64_t spares_us; /* monotonic: the minute in which those were asked */
};

void node_jobs_release(struct node_jobs *jobs);
void node_jobs_drop(struct node_jobs *jobs, const char *node);

/*
 * Are the jobs known that the decision hangs on? False: they are being asked for, and it waits.
 * True also when the time for that is over: then what is not known counts as in no job.
 */
bool node_jobs_known(struct node_jobs *jobs, const struct actor_env *env,
		     const struct decision *one);

/* Does the cluster know of jobs, and those of this host are not known? */
bool node_jobs_missing(const struct node_jobs *jobs, const struct actor_env *env, const char *node);

/* The answer (ACTOR_JOBS). */
void node_jobs_answered(struct node_jobs *jobs, const struct actor_env *env,
			const struct actor_event *event);

/* What was known of hosts in service is not true for long. */
void node_jobs_forget(struct node_jobs *jobs, const struct actor_env *env);
