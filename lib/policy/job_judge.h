/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From whom the windows of a job blame, and what is known of these hosts, to what is to be done
 * with each. Pure; the caller fills in the facts and carries out the answer, in which it only
 * asks: for tests of the job's own hosts, and for an eviction that policy_decide() alone grants.
 *
 *  - a claim about a host where the job does not run for sure is ignored and counted: whoever
 *    sends traces of a job can at most have its own hosts tested;
 *  - a failed test shows a suspect to be bad when its check fits the class (blame_shows()), and it
 *    was ordered after the host became suspect, in the boot that is suspected, on an idle host,
 *    against a reference, and of a pair with a partner that is known to be good; and again
 *    retest.times in a row jobs.retest_spacing apart. Of a host that one window blames
 *    any such failure since BLAME_BEFORE_US before that window asks for one more;
 *  - what was found before the host booted is no evidence, and a suspect that has booted since is
 *    tested and never evicted for it;
 *  - at most jobs.ladder.hosts of a job are tested at once, at_once of all jobs, and a job is
 *    looked into jobs.ladder.investigations times; at most jobs.per_domain of a rack, which begin
 *    JOB_JUDGE_APART_US from each other. One that runs jobs for longer than jobs.busy_limit
 *    while it waits for its test is given up;
 *  - a group that is accused as a whole (job_judge_is_group()) is kept free as a whole: those of
 *    its hosts that wait for the tests of others are `kept_free` meanwhile. What shows a link
 *    shows it too, for what is slow may lie between its hosts. The caller says when its hosts are
 *    idle (none is before all are), and that one is clean once it is cleared with the others too;
 *  - an acquittal holds for jobs.acquit.for against whatever this job says; a host that was
 *    acquitted and is accused by jobs.acquit.jobs different jobs is told to a person, and no more;
 *  - the order of suspects, hosts and windows changes nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/blame.h"
#include "lib/policy/policy.h"
#include "lib/policy/suspicion.h"

enum {
	JOB_JUDGE_TIMES_MAX = 16,    /* failures of one check that are looked at, the newest */
	JOB_JUDGE_FAILURES_MAX = 64, /* checks of a host that failed, likewise the first */
};

/* Tests of two hosts of a rack begin so far from each other: what starts draws most. */
#define JOB_JUDGE_APART_US (10 * USEC_PER_SEC)

/* One check of a host that failed, since it passed last. Borrowed. */
struct job_judge_failure {
	const char *check;
	const uint64_t *failed_us; /* when, the oldest first */
	size_t n_failed;
	uint64_t ordered_us; /* the first of them was ordered; 0: nobody ordered it */
	bool same_boot;	     /* in the boot that the host has now */
	bool idle;	     /* nothing else ran: what is busy is no evidence */
	bool reference;	     /* held against parts of equal parameters */
	bool partner_good;   /* of a pair: the partner is known to be good */
};

/* What a host is to be tested with next, while its ladder is not over. */
struct job_judge_rung {
	const char *profile; /* rungs.h; NULL: nothing, or all of it. Static */
	bool climbs;	     /* at once: it is no repetition of what failed */
	uint64_t again_us;   /* a repetition counts from then on; 0: it is none */
};

/* What is known of one host. Borrowed. */
struct job_judge_host {
	const char *name;
	bool placed;	       /* the job runs on it, by one sure placement, all the time */
	bool booted;	       /* since the windows that blame it */
	bool fatal;	       /* it has a fatal finding */
	bool idle;	       /* no job runs on it now */
	uint64_t suspected_us; /* K of N blame it since then; 0: they do not */
	uint64_t acquitted_us; /* this job's suspicion was dropped then; 0: never */
	uint64_t waits_us;     /* it runs jobs, and its test waits for that since then; 0: not */
	uint64_t heard_us;     /* its last report; 0: not known */
	uint64_t asked_us;     /* its last test since it is a suspect was ordered then; 0: none */
	uint64_t answered_us;  /* its newest test by a rung that counts was answered; 0: none was */
	/* Of one that was acquitted within jobs.acquit.per: different jobs that accuse it since so
	 * long, this one among them; else 0. */
	uint64_t accusers;
	const char *domain; /* its rack; NULL: not known */
	uint64_t group;	    /* a number for its group, which is accused as a whole; 0: none */
	bool awaits;	    /* ... and its own tests are over: those of the others are awaited */
	int end;	    /* enum blame_end */
	const char *rung;   /* of a link: what its pairs with others say, a sentence; or NULL */
	/* By enum blame_class. */
	int ladders[BLAME_CLASSES]; /* enum blame_ladder */
	struct job_judge_rung rungs[BLAME_CLASSES];
	/* It is set up otherwise than its like, in what can slow it so (fleet_differs()). */
	bool differs[BLAME_CLASSES];
	/* Every rung that can show the class was measured in this boot: idle, all GPUs, against a
	 * reference, and it was good. */
	bool clean[BLAME_CLASSES];
	/* All that it was tested with since it is a suspect passed in this boot, and its slowest
	 * part usually reaches so little that one good one in two hundred does not reach. */
	bool slow[BLAME_CLASSES];
	/* So little does it reach by the runs of its own plan, whatever its tests say or await. */
	bool is_low[BLAME_CLASSES];
	double speed, low; /* where it is so: its slowest part, and that limit; 1 is usual */
	/* What would tell, where that did not, a clause; NULL: not known. */
	const char *missing[BLAME_CLASSES];
	const struct job_judge_failure *failures;
	size_t n_failures;
};

/* Who asks for a test gets it within so long, or something is in its way and nothing is loaded. */
#define JOB_JUDGE_GRACE_US USEC_PER_MIN

/* A host that is tested now, or is about to be for a job. Borrowed. */
struct job_judge_load {
	const char *host, *domain; /* domain may be NULL */
	uint64_t since_us;
	bool under_way; /* else it was asked for */
};

struct job_judge_input {
	const char *job;		       /* how people call it */
	int class;			       /* enum blame_class, of its newest window */
	double slowdown;		       /* of that window; 1: none */
	const struct suspicion_list *suspects; /* suspicion_read() */
	const struct job_judge_host *hosts;    /* ascending by name */
	size_t n_hosts;
	uint64_t investigations;	    /* of the job, begun within ladder.investigations.per */
	uint64_t under_way;		    /* hosts that are tested for other jobs now */
	const struct job_judge_load *loads; /* of all jobs */
	size_t n_loads;
	/* By enum blame_class: what was predicted of evictions did not hold; it evicts nobody now. */
	bool distrusted[BLAME_CLASSES];
};

/* What is to be done with one host of one suspect. */
struct job_judge_item {
	const struct suspicion_found *suspect; /* of the input */
	const struct job_judge_host *host;     /* of the input */
	int evidence;			       /* enum blame_evidence */
	int limit;			       /* enum blame_limit */
	int action;			       /* enum blame_action */
	int incident;			       /* enum blame_incident */
	bool again;			       /* BLAME_PROBE: `check` alone */
	bool waits;			       /* BLAME_PROBE: not before it is idle */
	bool given_up;			       /* BLAME_WATCH: it was busy for too long */
	bool queued;			       /* BLAME_WATCH: others are tested before it */
	bool kept_free;	 /* BLAME_PROBE, of a group: likewise, and no job starts on it meanwhile */
	bool slow;	 /* to watch or test: it is known for slow silicon, whatever else */
	bool acquitted;	 /* BLAME_WATCH: an acquittal holds still */
	bool effect;	 /* do it: mode enforce; else only tell it */
	bool distrusted; /* it would be BLAME_EVICT, but for input.distrusted */
	const char *check; /* that failed, of the input; or NULL */
	/* BLAME_EVICT: the blame of the node (fleet_set_blame()). Its job and check are the input's. */
	struct blame blame;
	char *sentence; /* that names the host, the job and why */
	char *tells;	/* BLAME_CANNOT_TELL: what would tell; else NULL */
};

struct job_judge_result {
	int mode; /* enum policy_mode: what holds */
	struct job_judge_item *items;
	size_t n;
	struct blame_decision job; /* of the job itself: BLAME_OWNER or BLAME_WATCH */
	int action;		   /* the hardest of all: enum blame_action */
	char *sentence;		   /* of the hardest */
	size_t strangers;	   /* claims about hosts where the job does not run: ignored */
};

/*
 * Is the suspect a group of hosts that is accused as a whole, which the policy lets be held as one?
 * The trace does not tell which of them it is.
 */
bool job_judge_is_group(const struct policy *policy, const struct suspicion_found *suspect);

/* `policy->mode` is the effective one. Release `ret` afterwards; it borrows from the input. */
void job_judge(const struct policy *policy, const struct job_judge_input *in, uint64_t now_us,
	       struct job_judge_result *ret);

void job_judge_release(struct job_judge_result *result);

/* How slow a host is known to be (`slow` of its item), a clause, new memory; NULL: it is not. */
char *job_judge_slow_words(const struct job_judge_item *item);

/*
 * What `job` says of the host of an item of `result`; false: nothing. Of one to be tested a test
 * since `since_us` answers, or since its first window for 0. The job's name and the check stay
 * borrowed.
 */
bool job_judge_blame(const struct policy *policy, const char *job,
		     const struct job_judge_result *result, const struct job_judge_item *item,
		     uint64_t since_us, struct blame *ret);

/*
 * Until when the suspicion of an item is kept for the tests of its host (suspicion.h): for
 * jobs.busy_limit since it is one, while it is to be tested in mode enforce, waits for that or is
 * tested; but not once it is silent (breaker.silent_after), nor, with no job there, once its last
 * test was not answered within retest.timeout and the next one is due: that lapses as any other. 0:
 * it is not, and neither is one that booted since or whose windows have no ages.
 */
uint64_t job_judge_keep(const struct policy *policy, const struct job_judge_result *result,
			const struct job_judge_item *item);

/*
 * Of a host that K of N windows blamed once: does what failed on it since host->suspected_us show,
 * as of now, what the class says, so that it would be evicted? No more when it has booted, when a
 * test passed since, or when nothing of it is bad any more. Returns the check that does, of the
 * host's failures, or NULL.
 */
const char *job_judge_proves(const struct policy *policy, int class,
			     const struct job_judge_host *host);

/* Of a run of failures: how many there are since `since_us`, each `apart_us` after the one before. */
unsigned job_judge_apart(const struct job_judge_failure *failure, uint64_t since_us,
			 uint64_t apart_us);

/* From when on one more failure counts; 0: none does yet. */
uint64_t job_judge_again(const struct job_judge_failure *f, uint64_t since_us, uint64_t apart_us);
