/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the windows of simulated jobs to the policy's input about their hosts, like controller/job/:
 * K of N (lib/policy/suspicion.h), facts (controller/job/job_facts.h), the judge
 * (lib/policy/job_judge.h), tests spread over racks (controller/job/job_loads.h), and the strongest
 * blame of any job per host. It does not use the ground truth.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/job/job_loads.h"
#include "lib/base/macro.h"
#include "lib/policy/blame.h"
#include "lib/policy/suspicion.h"

struct job_window_result;
struct sim;
struct sim_job;

enum {
	JOB_LOOP_BOOTS_MAX = SUSPICION_WINDOWS_MAX * SUSPICION_SUSPECTS_MAX,
	JOB_LOOP_LOOKED_MAX = 64, /* investigations kept */
	JOB_LOOP_BOOT_SIZE = 40,
	JOB_LOOP_ACQUITTED_MAX = 64, /* latest acquittals kept */
};

/* The boot of a suspect at the time of a window. */
struct job_boot {
	int64_t window;
	size_t host;
	char boot_id[JOB_LOOP_BOOT_SIZE];
};

/* A suspect as last judged. */
struct job_suspect {
	const char *host;  /* of the fleet */
	int class;	   /* enum blame_class */
	uint64_t since_us; /* since when K of N windows blame it; 0: they do not */
	uint64_t begun_us; /* start of its test; 0: none */
	uint64_t kept_us;  /* end of its hold for that; 0: none */
};

/* A host acquitted by its tests. */
struct job_acquitted {
	size_t host;
	uint64_t at_us; /* 0: none */
};

/* State of one job. */
struct job_loop {
	struct suspicion windows; /* of `run` */
	unsigned run;
	struct job_boot *boots; /* the latest; a ring */
	size_t n_boots;
	struct job_suspect known[SUSPICION_LIST_MAX];
	size_t n_known;
	struct job_acquitted acquitted[JOB_LOOP_ACQUITTED_MAX]; /* a ring */
	size_t n_acquitted;
	uint64_t looked_us[JOB_LOOP_LOOKED_MAX]; /* start times of its investigations */
	size_t n_looked;
	uint64_t tested; /* hosts under test for it */
	int class;	 /* of its latest window */
	double slowdown;
};

/* Proven blame of a host that was to be cordoned, kept like in controller/job/investigation.h. */
struct job_proven {
	struct blame blame; /* class BLAME_NOTHING: none; its job is borrowed */
	uint64_t since_us;  /* since when it was a suspect */
	char boot_id[JOB_LOOP_BOOT_SIZE];
};

/* State shared by all jobs. */
struct job_desk {
	struct job_proven *proven; /* per host */
	json_t **tests;		   /* per host, newest first, in the API's format; or NULL */
	struct blame *said;	   /* per host: this minute's blame */
	struct job_loads loads;	   /* hosts under test, by rack */
};

void job_loop_open(struct sim *s);
void job_loop_close(struct sim *s);
void job_loop_release(struct job_loop *loop);

/* A finished window has arrived; `map` has its hosts by worker. */
void job_loop_window(struct sim *s, struct sim_job *job, const struct job_window_result *found,
		     const size_t *map);

/* Judges all jobs and passes the blame to the policy. */
void job_loop_judge(struct sim *s);

/*
 * A test of a host was ordered (`check` NULL: of the whole host, with `profile`; NULL: full). It
 * ended (enum test_outcome).
 */
void job_loop_ordered(struct sim *s, size_t host, const char *check, const char *profile);
void job_loop_tested(struct sim *s, size_t host, int outcome);
