/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the windows of simulated jobs to what the policy is told of their hosts, as controller/job/
 * has it: K of N (lib/policy/suspicion.h), facts (controller/job/job_facts.h), the judge
 * (lib/policy/job_judge.h), tests spread over racks (controller/job/job_loads.h), and the hardest
 * that any job says of a host as its blame. Nothing here knows what is true.
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
	JOB_LOOP_LOOKED_MAX = 64, /* investigations that are remembered */
	JOB_LOOP_BOOT_SIZE = 40,
	JOB_LOOP_ACQUITTED_MAX = 64, /* hosts whose acquittal is remembered, the newest */
};

/* In which boot a suspect of a window was. */
struct job_boot {
	int64_t window;
	size_t host;
	char boot_id[JOB_LOOP_BOOT_SIZE];
};

/* A suspect as it was judged last. */
struct job_suspect {
	const char *host;  /* of the fleet */
	int class;	   /* enum blame_class */
	uint64_t since_us; /* K of N blame it since then; 0: they do not */
	uint64_t begun_us; /* it is tested since then; 0: not */
	uint64_t kept_us;  /* it is kept for that until then; 0: not */
};

/* A host that its tests acquitted of the job. */
struct job_acquitted {
	size_t host;
	uint64_t at_us; /* 0: none */
};

/* What is remembered of one job. */
struct job_loop {
	struct suspicion windows; /* of `run` */
	unsigned run;
	struct job_boot *boots; /* the newest, a ring */
	size_t n_boots;
	struct job_suspect known[SUSPICION_LIST_MAX];
	size_t n_known;
	struct job_acquitted acquitted[JOB_LOOP_ACQUITTED_MAX]; /* a ring */
	size_t n_acquitted;
	uint64_t looked_us[JOB_LOOP_LOOKED_MAX]; /* when it began to be looked into */
	size_t n_looked;
	uint64_t tested; /* hosts that are tested for it */
	int class;	 /* of its newest window */
	double slowdown;
};

/* What is proven of a host that was to be taken out, as controller/job/investigation.h keeps it. */
struct job_proven {
	struct blame blame; /* of class BLAME_NOTHING: nothing; its job is borrowed */
	uint64_t since_us;  /* it was a suspect since then */
	char boot_id[JOB_LOOP_BOOT_SIZE];
};

/* What all jobs share. */
struct job_desk {
	struct job_proven *proven; /* of each host */
	json_t **tests;		   /* of each host, newest first, as the API has them; or NULL */
	struct blame *said;	   /* of each host: what is found this minute */
	struct job_loads loads;	   /* which hosts are tested, by rack */
};

void job_loop_open(struct sim *s);
void job_loop_close(struct sim *s);
void job_loop_release(struct job_loop *loop);

/* A window that is over has come; the names of its hosts by worker are `map`. */
void job_loop_window(struct sim *s, struct sim_job *job, const struct job_window_result *found,
		     const size_t *map);

/* Judge all jobs, and tell the policy. */
void job_loop_judge(struct sim *s);

/*
 * A test of a host was ordered (`check` NULL: all of it, by `profile`, NULL: full); it ended (enum
 * test_outcome).
 */
void job_loop_ordered(struct sim *s, size_t host, const char *check, const char *profile);
void job_loop_tested(struct sim *s, size_t host, int outcome);
