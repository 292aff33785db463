/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ranks of jobs here do (hang_sight.h), and since when. A rank is held by its process:
 * as long as that lives by a descriptor of its /proc/PID, and for HANG_RANKS_FORGET_US after its
 * end, unless it is started again meanwhile: that it has ended is telling while others wait for it.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agents/assayd/hang_sight.h"
#include "agents/assayd/process_map.h"
#include "agents/assayd/trace_rules.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

enum { HANG_RANKS_HERE_MAX = 2 * PROCESS_MAP_MAX };

#define HANG_RANKS_STANDS_US (60 * USEC_PER_SEC)
#define HANG_RANKS_FORGET_US (10 * USEC_PER_MIN)

struct hang_here {
	char job[TRACE_JOB_SIZE];
	int64_t run, rank;
	int64_t world; /* as it says itself; 0: it does not */
	uid_t uid;
	char pod[PROCESS_POD_SIZE];	       /* "" for none */
	char profiler[PROCESS_ENV_VALUE_SIZE]; /* that NCCL was told to load, if it is not ours; "" */
	pid_t pid;
	uint64_t start_ticks;
	int proc_fd; /* -1: it has ended */
	struct hang_sight before, after;
	struct hang_doing doing;
	uint64_t since_us; /* it has been seen to do that since, monotonic */
};

/* Zeroes are nobody. Read by anybody, written by hang_ranks.c. */
struct hang_ranks {
	struct hang_here *all; /* owned; by job, run and rank */
	size_t n;
};

void hang_ranks_release(struct hang_ranks *r);

/* The processes of jobs that are here now. Of one that does not say its job nothing is kept. */
void hang_ranks_set(struct hang_ranks *r, const struct process_entry *entries, size_t n,
		    uint64_t now_us);

/*
 * A rank that had ended before anybody looked at it: that, and when at the latest (`since_us`), is
 * all that `gone` says beyond who it was. Nothing is changed of one that is known, and none is
 * added when it ended HANG_RANKS_FORGET_US ago.
 */
void hang_ranks_add_gone(struct hang_ranks *r, const struct hang_here *gone, uint64_t now_us);

/* Look at all of them, but at those that were looked at less than HANG_SIGHT_APART_US ago. */
void hang_ranks_look(struct hang_ranks *r, uint64_t now_us);

/* Is there one of the job that was seen once so far, and so tells nothing yet? */
bool hang_ranks_unsure(const struct hang_ranks *r, const char *job);

/* Its newest run with a rank that lives, else its newest; -1: the job has none here. */
int64_t hang_ranks_run(const struct hang_ranks *r, const char *job);

/*
 * Has a rank of the job's run stood still for longer than HANG_RANKS_STANDS_US
 * (hang_sight_stands()), or been gone for as long while another one lives?
 */
bool hang_ranks_stand(const struct hang_ranks *r, const char *job, uint64_t now_us);

/*
 * "ranks" of assay-hang/1 (docs/hangs.md) of a run, new reference, and the world that they say
 * themselves (0: they do not).
 */
json_t *hang_ranks_tell(const struct hang_ranks *r, const char *job, int64_t run, uint64_t now_us,
			int64_t *ret_world);

/*
 * NCCL loads one profiler a process: where it was told to load another one there is no ring, and
 * nobody but the process's environment says why. A sentence for each such profiler, to "missing".
 */
void hang_ranks_tell_profilers(const struct hang_ranks *r, const char *job, int64_t run,
			       json_t *missing);
