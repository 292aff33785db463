/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which jobs ran on a host recently, and when, as far as known. A bad result from the time when a
 * host ran a job may be the job's doing, even after the host has left service and has no jobs: what
 * runs now is not enough to know.
 *
 * There are two sources, both incomplete: what the cluster says is running, asked from time to time
 * (fleet_set_jobs()), and what hosts say of their own processes
 * (controller/store/store_placements.h). A job is identified by the name that both use; under two
 * names it is two jobs. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct finding;
struct fleet;
struct fleet_node;

enum { FLEET_RAN_MAX = 128 }; /* per node; the one that ended longest ago is dropped */

/* A job that was last there longer ago than this is forgotten. */
#define FLEET_RAN_LATELY_US USEC_PER_DAY

/*
 * Tolerance of the times: the cluster is asked after something was found, and hosts report their
 * processes every ten minutes.
 */
#define FLEET_RAN_SLACK_US (15 * USEC_PER_MIN)

struct fleet_ran {
	int job;		   /* of fleet.jobs; holds a reference */
	uint64_t from_us, last_us; /* first and last seen there */
};

/* The job ran on the node in this span; extends what is already known. */
void fleet_jobs_ran(struct fleet *f, struct fleet_node *node, const char *job,
		    const uint64_t span_us[static 2]);

/* Extends the jobs that run now according to the cluster; drops those that ended too long ago. */
void fleet_jobs_note(struct fleet *f, struct fleet_node *node, uint64_t now_us);

/*
 * True if the job, a number of fleet.jobs, ran on the node recently; with `finding`, while that was
 * bad.
 */
bool fleet_jobs_has(const struct fleet_node *node, int job, const struct finding *finding);

/* For fleet.c: forgets everything. */
void fleet_jobs_release(struct fleet *f, struct fleet_node *node);
