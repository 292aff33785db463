/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grades the job loop against the simulator's ground truth. docs/sim.md documents the counts.
 *
 * A host that is named is sick (slow by a fault of its own, from the start or not), shared (slow by
 * a cause it shares), tail (a good one that cannot be told from a sick one in that job), or well. A
 * host is identifiable in a job if its slowest GPU is truly below the 0.5th percentile of the good
 * ones of large models (truth.h), and 5 % below that of the next-slowest host of the job.
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

/* The window that names it: honest, forged, or mapped by an old placement. */
enum job_source { JOB_HONEST, JOB_FORGED, JOB_STALE, JOB_SOURCES };

/* Per-host state. */
struct job_host {
	unsigned windows; /* maximum per run of windows in which it is identifiable */
	unsigned counted; /* the same, in the current run */
	uint64_t felt_us; /* its first window with a fault that has an onset */
	uint64_t named_us, idle_us, decided_us;
	bool evicted;	     /* ever */
	bool silicon;	     /* ever reported as slow silicon */
	bool shown;	     /* its tests ever confirmed the blame of a job */
	unsigned char named; /* bits of enum job_truth: its state when honest windows named it */
};

struct job_grade {
	struct job_host *hosts;
	double *values; /* per host: its slowest GPU, from the start or since its repair */
	double low;	/* the percentile */
	uint64_t runs, own_runs, pair_runs, stale_runs, forged_runs;
	uint64_t windows, analysed, stale_windows, forged_windows, own_windows;
	uint64_t own_told;   /* own_windows that attribution found to be the job's own slowdown */
	uint64_t blaming;    /* windows that blame a host */
	uint64_t named_runs; /* runs with a suspect, K of N */
	unsigned *named_run; /* per job: the last such run */
	uint64_t own_named;  /* such runs that slow themselves */
	uint64_t named[JOB_SOURCES][JOB_TRUTHS]; /* how often a host became a suspect */
	/* The immediate action, by enum blame_action; of those to watch ... */
	uint64_t answers[BLAME_ACTIONS];
	uint64_t differing;		     /* ... hosts with a different setup */
	uint64_t looked;		     /* ... and of jobs investigated as often as allowed */
	uint64_t outcomes[TEST_NOTHING + 1]; /* of tests of blamed hosts, by enum test_outcome */
	uint64_t tests;			     /* of whole hosts, because of jobs */
	uint64_t evicted[JOB_TRUTHS];	     /* cordons because of a job's blame */
	uint64_t lottery[JOB_TRUTHS];	     /* ... for a part that was always slow */
	uint64_t *lottery_of_model;	     /* ... by model */
	size_t n_models;
	struct job_times to_suspect, to_decided, idle_to_decided;
	uint64_t felt;	    /* hosts that had a fault with an onset while in a job */
	uint64_t left_held; /* hosts held at the end for over 20 minutes without a reason */
};

/* Call when the faults are assigned and the jobs are created. */
void job_grade_begin(struct sim *s);
void job_grade_release(struct job_grade *g);

/* A host was repaired: its faults from the start are gone. */
void job_grade_mended(struct sim *s, size_t host);

/* A run has begun. A run has ended and its hosts are idle. */
void job_grade_run(struct sim *s, const struct sim_job *job, bool pair);
void job_grade_ended(struct sim *s, const struct sim_job *job);

/* A window has arrived; `stale`: mapped by an old placement. */
void job_grade_window(struct sim *s, const struct sim_job *job, bool stale,
		      const struct job_window_result *found);

/* A host has become a suspect of a job, K of N. */
void job_grade_named(struct sim *s, const struct sim_job *job, size_t host);

/* The judge's result for it; `often`: the job was investigated as often as allowed. */
void job_grade_answer(struct sim *s, const struct job_judge_item *item, bool often);

/* It is reported as slow silicon. */
void job_grade_silicon(struct sim *s, size_t host);

/* A cordon was decided. Returns true if it is for a part that was always slow. */
bool job_grade_cordon(struct sim *s, size_t host, const struct decision *d);

/* After the last day. */
void job_grade_end(struct sim *s);

/* Returns a new reference. */
json_t *job_grade_encode(const struct sim *s);
void job_grade_print(const struct sim *s, FILE *out);
