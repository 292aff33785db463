/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds hosts whose jobs die soon after they start, using only where and when ranks of jobs ran.
 * The result is evidence: a host to test, never one to take out of service. Pure.
 *
 * Model. A *run* of a job is the set of ranks that started together; a rank that starts again when
 * most others have ended, or a higher run number, begins the next run. A run is *short* if it ended
 * within RESTARTS_SHORT_US, *long* if it lasted longer, and undecided while it is younger than that
 * and still going.
 *
 * Most jobs die for their own reasons, repeatedly: a bug, a bad file, a full disk. So many short
 * runs with a host mean little, and the runs of a job are compared with its own other runs. Only
 * its *joins* count: runs with a host that the previous run, a long one, did not have. There are M
 * of them, and S were short. A host joined in m of them, and *died* in k: that run, and all further
 * ones until it left, were short, and the first one without it was long again. If it does not
 * matter who joins, each of the M is equally likely to be among the S, and at least k of its joins
 * are, by chance, with probability
 *
 *	P(K = i) = C(S, i) C(M - S, m - i) / C(M, m),	i >= k
 *
 * (hypergeometric: R. A. Fisher's exact test). Over several jobs K is the sum, each with its own
 * numbers (the exact form of N. Mantel and W. Haenszel, JNCI 22, 1959), and `chance` is P(K >= k).
 * It follows that
 *
 * - a job that always has the host says nothing about it, nor does one that restarts on the same
 *   hosts (nobody joins), nor one that dies whoever joins (M = S leaves one value of K);
 * - a host that is in many runs is not suspicious for that, and each good join speaks for it;
 * - a period in which a job dies again and again begins with one join that counts, since all others
 *   follow a short run: a hundred restarts count once, for each host that it had;
 * - it errs on the host's side: S counts runs that were short, k only those after which the job
 *   recovered without the host.
 *
 * The bound. Each host is checked once a day. With H hosts, one is named if its `chance` is at most
 * RESTARTS_FALSE_A_YEAR / (365 H) (C. E. Bonferroni), so that at most that many innocent ones are
 * named per year, however the numbers of different days and hosts are correlated.
 *
 * What it does not see: hosts that always run together are named together; a process that no agent
 * saw (they look once a minute) was in no run; and an operator who moves a job off a host because
 * he knows that it is bad, ending the job early, creates the evidence himself.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

enum {
	RESTARTS_RANKS_MAX = 16384, /* higher ones are ignored */
	RESTARTS_RUNS_MAX = 4096,   /* of a job: the most recent */
	RESTARTS_JOINS_MAX = 4096,  /* of a host, in all jobs; more are not counted */
};

/*
 * A job takes minutes to start, and writes its checkpoints some tens of minutes apart: one that
 * ends earlier has achieved nothing.
 */
#define RESTARTS_SHORT_US (30 * USEC_PER_MIN)
/* How far back it looks; positions of ranks are kept slightly longer. */
#define RESTARTS_WINDOW_US (7 * USEC_PER_DAY)
#define RESTARTS_FALSE_A_YEAR 1.0
#define RESTARTS_LOOKS_A_YEAR 365.0

/* A rank ran on a host. Texts are borrowed. */
struct restarts_rank {
	const char *job, *node;
	int64_t run, rank;
	uint64_t from_us, until_us; /* UINT64_MAX: still there */
};

/* Result for a host. */
struct restarts_host {
	const char *node;     /* borrowed, of a rank */
	uint32_t jobs;	      /* jobs that say something about it: it and others joined them */
	uint32_t joins, died; /* its joins in these jobs */
	uint32_t short_runs;  /* in those that died: what it cost */
	uint32_t others, others_died; /* joins without it, and how many of them were short */
	double chance; /* of at least this many deaths, if the host does not matter */
	bool named;
};

/* All hosts about which something can be said, least chance first, then by name. */
struct restarts {
	struct restarts_host *hosts; /* owned */
	size_t n;
};

/* The largest chance that names a host, among this many hosts. */
double restarts_bound(size_t hosts);

/*
 * Evaluates the ranks as of `now_us`, for `fleet` hosts in all; the caller releases `ret`. Sorts
 * `ranks`. Ends after `now_us` are ignored, and so are ranks that began later.
 */
void restarts_judge(struct restarts *ret, struct restarts_rank *ranks, size_t n, size_t fleet,
		    uint64_t now_us);
void restarts_release(struct restarts *r);

/* P(K >= died) over strata. Used above and by tests. */
struct restarts_stratum {
	uint32_t joins, died, with; /* M, S, m */
};
double restarts_chance(const struct restarts_stratum *strata, size_t n, uint32_t died);

/*
 * "of 4 times that it joined one of 3 jobs that ran well, that died within 30 min 4 times, until it
 * left; with others 1 of 40: by chance once in 200000". New memory.
 */
char *restarts_words(const struct restarts_host *host);
