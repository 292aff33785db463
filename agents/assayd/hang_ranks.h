/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ranks on this host are doing (hang_sight.h), and since when. A rank is identified by
 * its process: while that lives, by a descriptor of its /proc/PID. It is kept for
 * HANG_RANKS_FORGET_US after its end, unless it is restarted, because a rank that has ended
 * explains why others wait.
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
	int64_t world; /* by its environment; 0: unknown */
	uid_t uid;
	char pod[PROCESS_POD_SIZE];	       /* "" if none */
	char profiler[PROCESS_ENV_VALUE_SIZE]; /* third-party profiler set for NCCL; "" */
	pid_t pid;
	uint64_t start_ticks;
	int proc_fd; /* -1: the process has ended */
	struct hang_sight before, after;
	struct hang_doing doing;
	uint64_t since_us; /* monotonic: doing that since */
};

/* Initialize to zero. Written only by hang_ranks.c. */
struct hang_ranks {
	struct hang_here *all; /* owned; sorted by job, run and rank */
	size_t n;
};

void hang_ranks_release(struct hang_ranks *r);

/* Set the processes of jobs that run now. Processes that do not state their job are skipped. */
void hang_ranks_set(struct hang_ranks *r, const struct process_entry *entries, size_t n,
		    uint64_t now_us);

/*
 * Add a rank that had ended before it was ever sampled: `gone` only says who it was and, in
 * `since_us`, by when it had ended. Does nothing if the rank is known, or ended more than
 * HANG_RANKS_FORGET_US ago.
 */
void hang_ranks_add_gone(struct hang_ranks *r, const struct hang_here *gone, uint64_t now_us);

/* Sample all of them, except those sampled less than HANG_SIGHT_APART_US ago. */
void hang_ranks_look(struct hang_ranks *r, uint64_t now_us);

/* Does the job have a rank sampled only once, of which nothing can be said yet? */
bool hang_ranks_unsure(const struct hang_ranks *r, const char *job);

/* The job's newest run with a live rank, else its newest run; -1: no ranks here. */
int64_t hang_ranks_run(const struct hang_ranks *r, const char *job);

/*
 * Has a rank of this run stood still for longer than HANG_RANKS_STANDS_US (hang_sight_stands()),
 * or been gone for that long while another rank lives?
 */
bool hang_ranks_stand(const struct hang_ranks *r, const char *job, uint64_t now_us);

/*
 * "ranks" of assay-hang/1 (docs/hangs.md) for a run, new reference, and the world size that the
 * ranks state (0: none does).
 */
json_t *hang_ranks_tell(const struct hang_ranks *r, const char *job, int64_t run, uint64_t now_us,
			int64_t *ret_world);

/*
 * NCCL loads one profiler per process: a rank told to load another one has no ring, and only its
 * environment shows why. Adds a sentence for each such profiler to "missing".
 */
void hang_ranks_tell_profilers(const struct hang_ranks *r, const char *job, int64_t run,
			       json_t *missing);
