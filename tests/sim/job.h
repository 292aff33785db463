/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs of a simulated fleet: where they run, until when, and their windows.
 *
 * A job is dp x pp workers, each a host of one model. It runs for some hours; then its hosts are
 * free, and its next run begins later, with the next number: on the same hosts but for some that
 * are drawn anew from those that are free and in service. What is wrong with a run, and with what
 * is said of it (struct job_plan), is drawn when it begins. Each window is what attribution finds
 * at the true speeds of the hosts at that time; whom the windows blame is judged by job_loop.h.
 *
 * All chance of a job is its own: other jobs, reports and decisions take nothing from it but
 * places.
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

/* Nobody. */
#define JOB_NOBODY SIZE_MAX

struct sim_job {
	char name[40];
	size_t number;
	int dp, pp;
	size_t n;	  /* hosts: dp * pp */
	size_t first, of; /* its model is `of` hosts from `first` on */
	struct random chance;
	bool runs;
	unsigned run;			   /* from 1 */
	uint64_t began_us, ends_us;	   /* of the run */
	uint64_t next_us;		   /* when it does not run: it is to begin then */
	uint64_t window_us;		   /* the next one */
	unsigned sent;			   /* windows of the run */
	size_t hosts[JOB_PLAN_HOSTS_MAX];  /* of the run, [d * pp + stage] */
	size_t before[JOB_PLAN_HOSTS_MAX]; /* of the run before; good from the second on */
	const char *own; /* how it slows itself (tests/attribution/inject.h), or NULL */
	bool stale;	 /* its first hour goes by the places of the run before */
	size_t forged;	 /* the host that is forged to be a suspect, or JOB_NOBODY */
	struct job_loop loop;
};

struct sim_jobs {
	struct sim_job *list;
	size_t n;	 /* 0: the fleet runs none */
	size_t *of_host; /* the job that runs on a host, from 1; 0: none */
	int64_t windows; /* of all, so far: their numbers */
	bool moved;	 /* the fleet is to be told who runs where */
	struct job_desk desk;
	struct job_grade grade;
	struct job_waits waits;
};

/* As many as the plan says. */
void job_begin(struct sim *s);
void job_release(struct sim *s);

/* A minute: runs end and begin, windows come and are judged. */
void job_step(struct sim *s);

/* Does a job run on it? */
bool job_is_on(const struct sim *s, size_t host);
