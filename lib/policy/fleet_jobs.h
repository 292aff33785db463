/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which jobs ran on a host lately, and when as far as it is known. What a host was low in while it
 * was one of a job may be the job's doing, also once it is out of service, and so has no job any
 * more: what runs now alone does not tell.
 *
 * Two sources, none of which knows all: what runs by the cluster, which is asked now and then
 * (fleet_set_jobs()), and what a host says of its own processes (controller/store/
 * store_placements.h). A job is what both call it; called otherwise it is two. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct finding;
struct fleet;
struct fleet_node;

enum { FLEET_RAN_MAX = 128 }; /* of one node: the one that ran last longest ago makes room */

/* So long after it was there last a job is no longer known to have been. */
#define FLEET_RAN_LATELY_US USEC_PER_DAY

/* By so much the times are off: the cluster is asked after something was found, and hosts speak of
 * their processes each ten minutes. */
#define FLEET_RAN_SLACK_US (15 * USEC_PER_MIN)

struct fleet_ran {
	int job;		   /* of fleet.jobs, held */
	uint64_t from_us, last_us; /* it was there first, and last */
};

/* The job ran on the node from when to when; what is known of it already becomes longer. */
void fleet_jobs_ran(struct fleet *f, struct fleet_node *node, const char *job,
		    const uint64_t span_us[static 2]);

/* Those that run now by the cluster do; what was there longer ago than lately is forgotten. */
void fleet_jobs_note(struct fleet *f, struct fleet_node *node, uint64_t now_us);

/* Did the job, a number of fleet.jobs, run on the node lately; and if `finding` is not NULL, while
 * that was bad? */
bool fleet_jobs_has(const struct fleet_node *node, int job, const struct finding *finding);

/* For fleet.c: nothing is known. */
void fleet_jobs_release(struct fleet *f, struct fleet_node *node);
