/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How well the loop of jobs did, against what the simulator knows. docs/sim.md says what is counted.
 *
 * What a host is when it is named: sick (it computes slowly by a fault of its own, born so or not),
 * shared (by what others have too), of the tail (a good one that nobody could tell from a
 * sick one in that job), or well. Identifiable in a job is a host whose slowest GPU is truly below
 * the 0.5th percentile of the good ones of large models (truth.h), and 5 % below that of the
 * next-slowest host of the job.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/macro.h"
#include "lib/policy/blame.h"
#include "lib/policy/fleet.h"
#include "tests/sim/job_wait.h"

struct decision;
struct job_judge_item;
struct job_window_result;
struct sim;
struct sim_job;

enum job_truth { JOB_SICK, JOB_SHARED, JOB_TAIL, JOB_WELL, JOB_TRUTHS };

/* Named in a window that lies, or by a map that is old. */
enum job_source { JOB_HONEST, JOB_FORGED, JOB_STALE, JOB_SOURCES };

/* One host, as far as jobs are concerned. */
struct job_host {
	unsigned windows; /* of a run in which it is identifiable, most of any run */
	unsigned counted; /* of the run that it is in */
	uint64_t felt_us; /* its first window with a fault that has an onset */
	uint64_t named_us, idle_us, decided_us;
	bool evicted;	     /* at any time */
	bool silicon;	     /* likewise: told as slow silicon */
	bool shown;	     /* ... or that its tests show what a job says of it */
	unsigned char named; /* bits of enum job_truth: what it was when it was, honestly */
};

struct job_grade {
	struct job_host *hosts;
	double *values; /* of each: its slowest GPU, as it was born, and since it was mended */
	double low;	/* the percentile */
	uint64_t runs, own_runs, pair_runs, stale_runs, forged_runs;
	uint64_t windows, analysed, stale_windows, forged_windows, own_windows;
	uint64_t own_told;   /* of the latter, those that are found to be the job's own doing */
	uint64_t blaming;    /* windows that blame anybody */
	uint64_t named_runs; /* with a suspect, K of N */
	unsigned *named_run; /* of each job: the last of these */
	uint64_t own_named;  /* ... of those that slow themselves */
	uint64_t named[JOB_SOURCES][JOB_TRUTHS]; /* times a host became one */
	/* What followed at once, by enum blame_action; of those to watch ... */
	uint64_t answers[BLAME_ACTIONS];
	uint64_t differing; /* ... hosts that are set up otherwise */
	uint64_t looked;    /* ... and of jobs that were looked into often enough */
	uint64_t outcomes[TEST_NOTHING +
			  1];	      /* of tests of hosts that are blamed, by enum test_outcome */
	uint64_t tests;		      /* of whole hosts, because of jobs */
	uint64_t evicted[JOB_TRUTHS]; /* cordons that a job's blame brought */
	uint64_t lottery[JOB_TRUTHS]; /* ... for a part that always was slow */
	uint64_t *lottery_of_model;   /* ... by model */
	size_t n_models;
	struct job_times to_suspect, to_decided, idle_to_decided;
	uint64_t felt;	    /* hosts with a fault with an onset, while in a job */
	uint64_t left_held; /* at the end, longer than 20 minutes without a reason */
};

/* The faults are on their hosts, and the jobs are made. */
void job_grade_begin(struct sim *s);
void job_grade_release(struct job_grade *g);

/* A host was repaired: what it was born with is gone. */
void job_grade_mended(struct sim *s, size_t host);

/* A run has begun; one has ended, and its hosts are idle. */
void job_grade_run(struct sim *s, const struct sim_job *job, bool pair);
void job_grade_ended(struct sim *s, const struct sim_job *job);

/* A window has come; `stale`: by an old map. */
void job_grade_window(struct sim *s, const struct sim_job *job, bool stale,
		      const struct job_window_result *found);

/* A host has become a suspect of a job, K of N. */
void job_grade_named(struct sim *s, const struct sim_job *job, size_t host);

/* What was decided about it then; `often`: the job was looked into as often as it may. */
void job_grade_answer(struct sim *s, const struct job_judge_item *item, bool often);

/* It is told as slow silicon. */
void job_grade_silicon(struct sim *s, size_t host);

/* A cordon was decided; it is of a part that always was slow: true. */
bool job_grade_cordon(struct sim *s, size_t host, const struct decision *d);

/* After the last day. */
void job_grade_end(struct sim *s);

/* New reference. */
json_t *job_grade_encode(const struct sim *s);
void job_grade_print(const struct sim *s, FILE *out);
