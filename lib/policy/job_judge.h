/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the hosts that the windows of a job blame, and what is known of them, to what to do with
 * each. Pure. The caller provides the facts and carries out the answer, which only asks: for tests
 * of the job's own hosts, and for evictions that only policy_decide() grants.
 *
 * - A claim about a host where the job does not run for certain is ignored and counted: whoever
 *   sends traces of a job can at most have its own hosts tested.
 * - A failed test proves a suspect bad if its check fits the class (blame_shows()) and it was
 *   ordered after the host became suspect, in the suspected boot, on an idle host, with a
 *   reference, and for pairs with a partner known to be good; and if it failed again, retest.times
 *   in a row, jobs.retest_spacing apart. For a host that one window blames, any such failure since
 *   BLAME_BEFORE_US before that window asks for one more test.
 * - Findings from before a reboot are no evidence, and a suspect that has rebooted since is tested,
 *   but never evicted for it.
 * - At most jobs.ladder.hosts of a job are tested at once, and at_once of all jobs; a job is
 *   investigated jobs.ladder.investigations times; at most jobs.per_domain hosts of a rack are
 *   tested at once, starting JOB_JUDGE_APART_US apart. A host that stays busy with jobs for longer
 *   than jobs.busy_limit while it waits for its test is given up.
 * - A group that is accused as a whole (job_judge_is_group()) is kept free as a whole: hosts that
 *   wait for the tests of others are `kept_free` meanwhile. Checks that show a link count too,
 *   since the cause may lie between its hosts. The caller reports its hosts as idle only once all
 *   are, and as clean only once they are cleared with each other too.
 * - An acquittal holds for jobs.acquit.for against anything this job says. A host that was
 *   acquitted and is accused by jobs.acquit.jobs different jobs is only reported to a person.
 * - The order of suspects, hosts and windows does not matter.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/blame.h"
#include "lib/policy/policy.h"
#include "lib/policy/suspicion.h"

enum {
	JOB_JUDGE_TIMES_MAX = 16,    /* failures of one check that are considered, the newest */
	JOB_JUDGE_FAILURES_MAX = 64, /* failed checks of a host that are considered, the first */
};

/* Tests of two hosts of a rack start this far apart: power peaks at the start. */
#define JOB_JUDGE_APART_US (10 * USEC_PER_SEC)

/* One check of a host that has failed since it last passed. Borrowed. */
struct job_judge_failure {
	const char *check;
	const uint64_t *failed_us; /* timestamps, oldest first */
	size_t n_failed;
	uint64_t ordered_us; /* when the first of them was ordered; 0: not ordered */
	bool same_boot;	     /* in the host's current boot */
	bool idle;	     /* nothing else ran: busy is no evidence */
	bool reference;	     /* compared with parts of equal parameters */
	bool partner_good;   /* for a pair: the partner is known to be good */
};

/* The next test of a host, while its ladder is not over. */
struct job_judge_rung {
	const char *profile; /* rungs.h; NULL: none, or everything. Static */
	bool climbs;	     /* at once: it does not repeat a failed one */
	uint64_t again_us;   /* earliest time for a repetition to count; 0: not a repetition */
};

/* What is known of one host. Borrowed. */
struct job_judge_host {
	const char *name;
	bool placed;	       /* the job runs on it all the time, by one certain placement */
	bool booted;	       /* since the windows that blame it */
	bool fatal;	       /* it has a fatal finding */
	bool idle;	       /* no job runs on it now */
	uint64_t suspected_us; /* K of N blame it since; 0: they do not */
	uint64_t acquitted_us; /* this job's suspicion was dropped; 0: never */
	uint64_t waits_us;     /* its test waits since then for its jobs to end; 0: no */
	uint64_t heard_us;     /* last report; 0: unknown */
	uint64_t asked_us;     /* its last test as a suspect was ordered; 0: none */
	uint64_t answered_us;  /* its newest test by a rung that counts was answered; 0: none */
	/*
	 * For a host acquitted within jobs.acquit.per: number of different jobs that accuse it in
	 * that time, including this one; else 0.
	 */
	uint64_t accusers;
	const char *domain; /* its rack; NULL: unknown */
	uint64_t group;	    /* number of its group, which is accused as a whole; 0: none */
	bool awaits;	    /* ... its own tests are over, those of others are not */
	int end;	    /* enum blame_end */
	const char *rung;   /* for a link: what its pairs with others show, a sentence; or NULL */
	/* By enum blame_class. */
	int ladders[BLAME_CLASSES]; /* enum blame_ladder */
	struct job_judge_rung rungs[BLAME_CLASSES];
	/* It has other settings than similar hosts, which can make it slow (fleet_differs()). */
	bool differs[BLAME_CLASSES];
	/*
	 * Every rung that can show the class was measured in this boot (idle, all GPUs, with a
	 * reference) and was good.
	 */
	bool clean[BLAME_CLASSES];
	/*
	 * All its tests as a suspect passed in this boot, but its slowest part usually reaches so
	 * little that only one good part in two hundred is slower.
	 */
	bool slow[BLAME_CLASSES];
	/* The runs of its own plan show it that slow, whatever its tests say or await. */
	bool is_low[BLAME_CLASSES];
	double speed, low; /* if so: its slowest part, and that limit; 1 is usual */
	/* What would be needed to decide, a clause; NULL: unknown. */
	const char *missing[BLAME_CLASSES];
	const struct job_judge_failure *failures;
	size_t n_failures;
};

/* A requested test starts within this time; else something is in its way and nothing is loaded. */
#define JOB_JUDGE_GRACE_US USEC_PER_MIN

/* A host that is being tested, or is about to be for a job. Borrowed. */
struct job_judge_load {
	const char *host, *domain; /* domain may be NULL */
	uint64_t since_us;
	bool under_way; /* false: requested */
};

struct job_judge_input {
	const char *job;		       /* its name for people */
	int class;			       /* enum blame_class of its newest window */
	double slowdown;		       /* of that window; 1: none */
	const struct suspicion_list *suspects; /* suspicion_read() */
	const struct job_judge_host *hosts;    /* ascending by name */
	size_t n_hosts;
	uint64_t investigations;	    /* of the job, begun within ladder.investigations.per */
	uint64_t under_way;		    /* hosts being tested for other jobs */
	const struct job_judge_load *loads; /* of all jobs */
	size_t n_loads;
	/*
	 * By enum blame_class: predictions about evictions did not come true; it evicts nobody now.
	 */
	bool distrusted[BLAME_CLASSES];
};

/* What to do with one host of one suspect. */
struct job_judge_item {
	const struct suspicion_found *suspect; /* of the input */
	const struct job_judge_host *host;     /* of the input */
	int evidence;			       /* enum blame_evidence */
	int limit;			       /* enum blame_limit */
	int action;			       /* enum blame_action */
	int incident;			       /* enum blame_incident */
	bool again;			       /* BLAME_PROBE: `check` alone */
	bool waits;			       /* BLAME_PROBE: once it is idle */
	bool given_up;			       /* BLAME_WATCH: it was busy for too long */
	bool queued;			       /* BLAME_WATCH: others are tested first */
	bool kept_free;	 /* BLAME_PROBE, of a group: the same, and no job starts on it meanwhile */
	bool slow;	 /* watch or test: its silicon is known to be slow, whatever else */
	bool acquitted;	 /* BLAME_WATCH: an acquittal still holds */
	bool effect;	 /* do it (mode enforce); else only report it */
	bool distrusted; /* would be BLAME_EVICT without input.distrusted */
	const char *check; /* the failed check, of the input; or NULL */
	/* BLAME_EVICT: blame of the node (fleet_set_blame()). Job and check are the input's. */
	struct blame blame;
	char *sentence; /* names the host, the job and the reason */
	char *tells;	/* BLAME_CANNOT_TELL: what would be needed; else NULL */
};

struct job_judge_result {
	int mode; /* enum policy_mode: the effective one */
	struct job_judge_item *items;
	size_t n;
	struct blame_decision job; /* for the job itself: BLAME_OWNER or BLAME_WATCH */
	int action;		   /* the most severe of all: enum blame_action */
	char *sentence;		   /* of the most severe */
	size_t strangers;	   /* claims about hosts where the job does not run: ignored */
};

/*
 * True if the suspect is a group of hosts that is accused as a whole and that the policy allows to
 * be held as one. The trace does not show which of them it is.
 */
bool job_judge_is_group(const struct policy *policy, const struct suspicion_found *suspect);

/* `policy->mode` is the effective mode. The caller releases `ret`, which borrows from the input. */
void job_judge(const struct policy *policy, const struct job_judge_input *in, uint64_t now_us,
	       struct job_judge_result *ret);

void job_judge_release(struct job_judge_result *result);

/* How slow a host is known to be (`slow` of its item), a clause, new memory; NULL: it is not. */
char *job_judge_slow_words(const struct job_judge_item *item);

/*
 * What `job` says of the host of an item of `result`. Returns false for nothing. For a host to be
 * tested, a test since `since_us` answers it, or since its first window if 0. The job's name and
 * the check stay borrowed.
 */
bool job_judge_blame(const struct policy *policy, const char *job,
		     const struct job_judge_result *result, const struct job_judge_item *item,
		     uint64_t since_us, struct blame *ret);

/*
 * Until when the suspicion of an item is kept for its host's tests (suspicion.h): jobs.busy_limit
 * after it became a suspect, while it is to be tested in mode enforce, waits for a test or is
 * tested. It ends earlier when the host is silent (breaker.silent_after) or, without jobs on it,
 * when its last test was not answered within retest.timeout and the next one is due. 0: not kept,
 * as for a host that has rebooted since or whose windows have no timestamps.
 */
uint64_t job_judge_keep(const struct policy *policy, const struct job_judge_result *result,
			const struct job_judge_item *item);

/*
 * For a host that K of N windows once blamed: do failures since host->suspected_us prove, as of
 * now, what the class says, so that it would be evicted? Not if it rebooted, if a test passed
 * since, or if none of it is still bad. Returns the check that proves it, from the host's failures,
 * or NULL.
 */
const char *job_judge_proves(const struct policy *policy, int class,
			     const struct job_judge_host *host);

/* The number of failures since `since_us` that are each `apart_us` after the one before. */
unsigned job_judge_apart(const struct job_judge_failure *failure, uint64_t since_us,
			 uint64_t apart_us);

/* The earliest time at which one more failure counts; 0: none has counted so far. */
uint64_t job_judge_again(const struct job_judge_failure *f, uint64_t since_us, uint64_t apart_us);
