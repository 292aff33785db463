/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a slow job means for a host: a trace alone never takes a host out of service, it says which
 * host to test. Pure.
 *
 * Model. A window of a job's trace names a class of cause, and suspects. The keeper of the job
 * counts windows (suspicion.h), tests the suspect rung by rung (its ladder), and calls
 * blame_decide() after each step. Invariants, all tested over all inputs:
 *
 * - evict only with a fatal finding, or with a fresh failed test that fits the class;
 * - acquit only with clean evidence: worse evidence never acquits, nor does a test that passed
 *   although the host is slow;
 * - with an exhausted ladder the answer is never to probe, so every path ends;
 * - a suspect from a window without timestamps, or one that has rebooted since, is at most probed;
 * - a job that slows itself (class job), or an unclear cause, touches no host.
 *
 * struct blame stays with a host that is to be evicted: while it holds, a matching finding counts
 * as reproduced (decide.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

/* Why a job is slow. */
enum blame_class {
	BLAME_NOTHING, /* it is not slow */
	BLAME_COMPUTE, /* a worker or a node computes slowly */
	BLAME_LINK,    /* one link between two hosts; both ends are suspects */
	BLAME_FABRIC,  /* the hosts of one switch */
	BLAME_LAUNCH,  /* kernels are launched late; weak evidence */
	BLAME_JOB,     /* stages, sequence lengths, garbage collection: not a host */
	BLAME_UNCLEAR, /* unknown, rejected, not identifiable */
	BLAME_CLASSES
};
extern const char *const blame_class_names[]; /* "none" "compute" ... "unclear" */

/* How many windows of a run blame it. */
enum blame_counts {
	BLAME_NO_WINDOW,
	BLAME_ONE_WINDOW, /* at least one, but fewer than K */
	BLAME_K_OF_N,
	BLAME_COUNTS
};

/* The worst evidence about the host, from best to worst. Busy is not evidence. */
enum blame_evidence {
	EVIDENCE_CLEAN, /* all rungs that show the class passed: idle, all GPUs, with a reference */
	EVIDENCE_SLOW,	/* they passed, but only one good host in 200 is this slow */
	EVIDENCE_NONE,	/* nothing, or not all rungs */
	EVIDENCE_DIFFERS, /* other settings that can make it slow: not comparable */
	EVIDENCE_OTHER,	  /* a check failed that cannot show the class */
	EVIDENCE_BAD,	  /* one that can has freshly failed: see job_judge.h */
	EVIDENCE_FATAL,
	EVIDENCES
};
extern const char *const blame_evidence_names[]; /* "clean" "slow" ... "fatal" */

/* State of the suspect's tests. */
enum blame_ladder { LADDER_NOT_RUN, LADDER_RUNNING, LADDER_EXHAUSTED, LADDERS };
extern const char *const blame_ladder_names[]; /* "not run" "running" "exhausted" */

/*
 * This end of a link, from tests of the host alone and with a third host that is known to be good.
 * Between: both ends are good with others, but slow with each other.
 */
enum blame_end { END_UNKNOWN, END_GOOD, END_BAD, END_BETWEEN, ENDS };

/* Why a suspect is at most probed. */
enum blame_limit {
	LIMIT_NONE,
	LIMIT_COARSE, /* its windows have no timestamps */
	LIMIT_BOOTED, /* the host has rebooted since it was slow */
	LIMITS
};

struct blame_input {
	int class;	   /* enum blame_class */
	int counts;	   /* enum blame_counts */
	int evidence;	   /* enum blame_evidence */
	int ladder;	   /* enum blame_ladder */
	int end;	   /* enum blame_end; only for class link */
	int limit;	   /* enum blame_limit */
	bool slow;	   /* the job takes at least BLAME_SLOW times its ideal time */
	bool identifiable; /* another host does the same work; else the class counts as unclear */
};

/* At this slowdown the job's owner is notified even if the cause is unknown. */
#define BLAME_SLOW 1.1

/* From the mildest to the most severe. */
enum blame_action {
	BLAME_ACQUIT, /* tests that would show it found nothing: ignore this job's suspicion */
	BLAME_WATCH,  /* nothing for now */
	BLAME_OWNER,  /* notify the job's owner, not on-call */
	BLAME_PROBE,  /* test the host: its ladder, or one check if `again` */
	BLAME_EVICT,
	BLAME_ACTIONS
};
extern const char *const blame_action_names[]; /* "acquit" "watch" "owner" "probe" "evict" */

/* What else is reported. */
enum blame_incident {
	BLAME_QUIET,
	BLAME_SET_UP,	   /* the host has other settings than its like */
	BLAME_CANNOT_TELL, /* fully tested, but neither shown nor ruled out */
	BLAME_OF_DOMAIN,   /* both ends are good: what is between them is not */
	BLAME_ACCUSED,	   /* acquitted by tests, but several jobs accuse it */
	BLAME_SILICON,	   /* as slow as the job says, but by silicon that no test fails */
	BLAME_INCIDENTS
};
extern const char *const blame_incident_names[];

struct blame_decision {
	int action;	    /* enum blame_action */
	int incident;	    /* enum blame_incident */
	bool again;	    /* BLAME_PROBE: the failed check, now; else the whole ladder */
	const char *reason; /* clause for people; static */
	unsigned row;	    /* index of the table row, for tests and records */
};

/* The first row that matches. Members out of range only match the last one: watch. */
struct blame_decision blame_decide(const struct blame_input *in);

/* True if a cause of this class can be a host. */
bool blame_may_accuse(int class);

/* True if a single host is slow. In other classes that accuse, two or more hosts are suspects. */
bool blame_of_host(int class);

/*
 * True if a suspect of this class is tested by itself. For links only as first rung: pair_rungs.h.
 */
bool blame_tests_host(int class);

/*
 * True if the check can show a cause of this class. Wrong data never does: it slows no job, and has
 * a stricter rule of its own.
 */
bool blame_shows(int class, const char *check);

/*
 * The same for a host of a group that is accused as a whole. The cause may lie between its hosts,
 * so checks that show a link count too.
 */
bool blame_shows_group(int class, const char *check);

/*
 * True if a host must pass this check, which shows the class, to be cleared. The problem may show
 * up earlier in other checks, but passing those rules nothing out.
 */
bool blame_clears(int class, const char *check);

/* Names of such checks for people; NULL if none is known. Static. */
const char *blame_clearing(int class);

/*
 * True if a value of this setting ("gpu.ecc_mode=off", or just the key) that differs from similar
 * hosts can make a host slow in this way. True for unknown settings. `_group`: also for a host of a
 * group that is accused as a whole.
 */
bool blame_may_slow(int class, const char *setting);
bool blame_may_slow_group(int class, const char *setting);

/* The tests for suspects of this class, in words; NULL: none. Static. */
const char *blame_rungs(int class);

/* How much a job's word can cause. */
enum blame_reach {
	BLAME_TO_EVICT, /* matching findings count as reproduced; if there is none, it is tested */
	BLAME_TO_TEST,	/* it is only tested */
	BLAME_TO_HOLD,	/* it waits for its test and takes no new jobs; only for groups */
	BLAME_TO_TELL,	/* only reported: it would be tested */
};

/*
 * What the job that blames a host would gain from a good host in its place, according to the job's
 * plan (docs/jobs.md). Decides nothing by itself: among hosts that wait for the same budget, those
 * with the largest gain go first (decide.h).
 */
struct blame_gain {
	bool known;  /* false: the job has no plan, or the plan does not mention the host */
	double part; /* of a step, 0 to 1 */
	double gpus; /* GPUs of the job, which save that part of their time */
};

/* What a job says of a host, once judged; zero: nothing. */
struct blame {
	int class;   /* enum blame_class */
	int reach;   /* enum blame_reach */
	char *job;   /* its name for people, owned; NULL: unnamed */
	char *check; /* evict: the check whose failures prove it, owned; NULL: any that fits */
	uint64_t since_us; /* start of its first window; not to evict: a test since answers it */
	/*
	 * If not to be evicted: when the newest test that answers it was answered, from the record
	 * of tests, which survives a restart; 0: none. A run that was not ordered does not count.
	 */
	uint64_t answered_us;
	const char *rung;  /* profile to run next: rungs.h; NULL: all. Static */
	bool climbs;	   /* run it at once: it does not repeat a failed one */
	uint64_t again_us; /* earliest time for a repetition to count; 0: not a repetition */
	uint64_t until_us; /* it holds until then */
	bool diagnosed;	   /* not accused: all hosts of the job are being tested */
	uint64_t group;	   /* same for all hosts of a group accused as a whole; 0: none */
	struct blame_gain gain;
};

/* A deep copy; the caller releases it. */
struct blame blame_copy(const struct blame *blame);
void blame_release(struct blame *blame);

bool blame_equals(const struct blame *a, const struct blame *b);

/* Evidence counts from this long before the window: the fault existed when the job noticed it. */
#define BLAME_BEFORE_US (10 * USEC_PER_MIN)

/* True if `a` asks for more than `b`, which may be empty. */
bool blame_is_harder(const struct blame *a, const struct blame *b);

/* True if it accuses the host now. */
bool blame_holds(const struct blame *blame, uint64_t now_us);

/*
 * What the job gains from a good host in its place, in GPUs of work, comparable between jobs.
 * Negative if unknown, or if the blame no longer holds or its numbers are invalid.
 */
double blame_worth(const struct blame *blame, uint64_t now_us);

/* True if it accuses the host now, and what this check measured at `seen_us` can be the cause. */
bool blame_agrees(const struct blame *blame, const char *check, uint64_t seen_us, uint64_t now_us);

/*
 * True if, in addition, the finding counts as reproduced by it. Other checks that failed in the
 * same test are no proof: they have tests of their own.
 */
bool blame_fits(const struct blame *blame, const char *check, uint64_t seen_us, uint64_t now_us);
