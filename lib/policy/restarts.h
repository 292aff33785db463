/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is there a host whose jobs die soon after they began? From where ranks of jobs were, and from
 * when to when: nothing else is asked of a job. What comes of it is evidence: a host to test,
 * never one to take out of service. Pure.
 *
 * Model. A *run* of a job is the ranks that began together; a rank that begins again when most of
 * the others have ended, or a higher number of the run, begins the next. It is *short* when it
 * ended within RESTARTS_SHORT_US, *long* when it lasted longer, and says nothing while it is
 * younger than that and goes on.
 *
 * Most jobs die for reasons of their own, and do it again: of a bug, a bad file, a full disk. So
 * it means little that many short runs had a host, and the runs of one job are held against its
 * own others. Looked at are its *joins*: runs that have a host which the one before did not,
 * where that was long. They are M, and S of them were short. A host joined in m of them, and
 * *died* in k: the run, and all others until it left, were short, and the first without it was
 * long again. If it does not matter who joins, any of the M may be the S, and k of those that it
 * was in are, or more, by chance as
 *
 *	P(K = i) = C(S, i) C(M - S, m - i) / C(M, m),	i >= k
 *
 * (hypergeometric: R. A. Fisher's exact test). Over several jobs K is the sum, each with numbers
 * of its own (the exact form of N. Mantel and W. Haenszel, JNCI 22, 1959), and `chance` is P(K >=
 * k). What follows from it:
 *
 *  - a job that always has the host says nothing of it, nor does one that restarts on the same
 *    hosts: nobody joins; nor one that dies whoever joins: M = S leaves one value of K;
 *  - a host that is in many runs is not suspicious for it, and each good join speaks for it;
 *  - a time in which a job dies again and again begins with one join that counts, as all others
 *    follow a short run: a hundred restarts of it are one, for each of the hosts that it had;
 *  - it errs on the host's side: S counts runs that were short, k only those that end well
 *    without it.
 *
 * The bound. Each host is looked at once a day; with H hosts a `chance` of at most
 * RESTARTS_FALSE_A_YEAR / (365 H) names it (C. E. Bonferroni), so that in a year at most so many
 * are named that do nothing, whatever the numbers of different days and hosts have in common.
 *
 * What it does not see: hosts that are never without each other are named together; a process
 * that no agent saw (they look once a minute) was in no run; and who moves a job away from a host
 * because he knows that it is bad, and ends the job early for it, makes the evidence himself.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

enum {
	RESTARTS_RANKS_MAX = 16384, /* higher ones are not looked at */
	RESTARTS_RUNS_MAX = 4096,   /* of a job: the last of them */
	RESTARTS_JOINS_MAX = 4096,  /* of a host, in all jobs: more are not counted */
};

/* A job needs minutes to begin, and writes its checkpoints some tens of them apart: what ends
 * before has done nothing. */
#define RESTARTS_SHORT_US (30 * USEC_PER_MIN)
/* So far back it is looked: where ranks were is kept for a little longer. */
#define RESTARTS_WINDOW_US (7 * USEC_PER_DAY)
#define RESTARTS_FALSE_A_YEAR 1.0
#define RESTARTS_LOOKS_A_YEAR 365.0

/* A rank was on a host. Texts are borrowed. */
struct restarts_rank {
	const char *job, *node;
	int64_t run, rank;
	uint64_t from_us, until_us; /* UINT64_MAX: it is there */
};

/* What is found of a host. */
struct restarts_host {
	const char *node;	      /* borrowed, of a rank */
	uint32_t jobs;		      /* that say something of it: where it and others joined */
	uint32_t joins, died;	      /* of it, in these */
	uint32_t short_runs;	      /* in those that died: what it took */
	uint32_t others, others_died; /* joins without it, and short ones of them */
	double chance;		      /* that so many or more died, if it does not matter */
	bool named;
};

/* All that anything can be said of, the least chance first, then by name. */
struct restarts {
	struct restarts_host *hosts; /* owned */
	size_t n;
};

/* So small has the chance to be among so many hosts. */
double restarts_bound(size_t hosts);

/*
 * What the ranks say as of then, of `fleet` hosts in all; a release is needed. `ranks` is sorted by
 * the call; of each the end counts as far as it was before `now_us`, and one that began later not
 * at all.
 */
void restarts_judge(struct restarts *ret, struct restarts_rank *ranks, size_t n, size_t fleet,
		    uint64_t now_us);
void restarts_release(struct restarts *r);

/* P(K >= died) over strata. For tests and for above. */
struct restarts_stratum {
	uint32_t joins, died, with; /* M, S, m */
};
double restarts_chance(const struct restarts_stratum *strata, size_t n, uint32_t died);

/*
 * "of 4 times that it joined one of 3 jobs that ran well, that died within 30 min 4 times, until it
 * left; with others 1 of 40: by chance once in 200000", new memory.
 */
char *restarts_words(const struct restarts_host *host);
