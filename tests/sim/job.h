/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of a simulated fleet: where and how long they run, and their windows.
 *
 * A job is dp x pp workers, each a host; all hosts have the same model. It runs for some hours and
 * frees its hosts. Its next run begins later, with the next number, on the same hosts except some
 * that are drawn from those free and in service. The faults of a run and of its reports (struct
 * job_plan) are drawn when it begins. Each window is the result of attribution at the true speeds
 * of the hosts at that time; job_loop.h judges the blamed hosts.
 *
 * Each job has its own random stream: other jobs, reports and decisions affect only its hosts.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "tests/sim/job_grade.h"
#include "tests/sim/job_loop.h"
#include "tests/sim/job_plan.h"
#include "tests/unit/random.h"

struct sim;

/* No host. */
#define JOB_NOBODY SIZE_MAX

struct sim_job {
	char name[40];
	size_t number;
	int dp, pp;
	size_t n;	  /* hosts: dp * pp */
	size_t first, of; /* its model has `of` hosts, from `first` on */
	struct random chance;
	bool runs;
	unsigned run;			   /* number, from 1 */
	uint64_t began_us, ends_us;	   /* of the run */
	uint64_t next_us;		   /* start of the next run, while it does not run */
	uint64_t window_us;		   /* time of the next window */
	unsigned sent;			   /* windows of the run so far */
	size_t hosts[JOB_PLAN_HOSTS_MAX];  /* of the run, [d * pp + stage] */
	size_t before[JOB_PLAN_HOSTS_MAX]; /* of the previous run; valid from the second run on */
	const char *own; /* its own slowdown (tests/attribution/inject.h), or NULL */
	bool stale;	 /* windows of its first hour use the placement of the previous run */
	size_t forged;	 /* the host that forged windows blame, or JOB_NOBODY */
	struct job_loop loop;
};

struct sim_jobs {
	struct sim_job *list;
	size_t n;	 /* 0: the fleet runs none */
	size_t *of_host; /* per host: number of its job, from 1; 0: none */
	int64_t windows; /* number of windows so far, over all jobs */
	bool moved;	 /* the placement changed; the fleet has to be updated */
	struct job_desk desk;
	struct job_grade grade;
	struct job_waits waits;
};

/* Creates the jobs of the plan. */
void job_begin(struct sim *s);
void job_release(struct sim *s);

/* Advances by a minute: runs end and begin, windows arrive and are judged. */
void job_step(struct sim *s);

/* Is a job running on the host? */
bool job_is_on(const struct sim *s, size_t host);
