/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows for a host from a job that is slow: a trace alone never takes a host out of
 * service, it says which host to test. Pure.
 *
 * Model. A window of a job's trace names a class of cause and suspects. Whoever keeps the job
 * counts windows (suspicion.h), tests the suspect rung by rung (its ladder) and asks
 * blame_decide() after each step. Invariants, all of them tested over all inputs:
 *
 *  - evict only with a fatal finding, or with a test that failed freshly and fits the class;
 *  - acquit only with clean evidence: worse evidence never does, nor what is slow though it passes;
 *  - with an exhausted ladder the answer is no probe: every path ends;
 *  - a suspect of a window without ages, or of a host that booted since, is at most probed;
 *  - what slows itself (class job) touches no host, and neither does what cannot be told.
 *
 * struct blame is what stays with a host that is to be evicted: with it a finding that fits counts
 * as reproduced (decide.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

/* Why a job is slow. */
enum blame_class {
	BLAME_NOTHING, /* it is not */
	BLAME_COMPUTE, /* a worker or a node computes slowly */
	BLAME_LINK,    /* one link between two hosts; both ends are suspects */
	BLAME_FABRIC,  /* hosts of one switch */
	BLAME_LAUNCH,  /* kernels are launched late; weak */
	BLAME_JOB,     /* stages, sequence lengths, garbage collection: nobody's host */
	BLAME_UNCLEAR, /* unknown, rejected, not identifiable */
	BLAME_CLASSES
};
extern const char *const blame_class_names[]; /* "none" "compute" ... "unclear" */

/* Of the windows of a run. */
enum blame_counts {
	BLAME_NO_WINDOW,
	BLAME_ONE_WINDOW, /* at least one, fewer than K */
	BLAME_K_OF_N,
	BLAME_COUNTS
};

/* What is known of the host, the worst of it, from the best to the worst. Busy is no evidence. */
enum blame_evidence {
	EVIDENCE_CLEAN,	  /* every rung that shows the class: idle, all GPUs, against a reference */
	EVIDENCE_SLOW,	  /* they pass, and it is slower than good ones are but for one in 200 */
	EVIDENCE_NONE,	  /* nothing, or not all of them */
	EVIDENCE_DIFFERS, /* it is set up otherwise, in what can slow it so: nothing compares to it */
	EVIDENCE_OTHER,	  /* a check failed that cannot show the class */
	EVIDENCE_BAD,	  /* one that can failed freshly: job_judge.h says when that counts */
	EVIDENCE_FATAL,
	EVIDENCES
};
extern const char *const blame_evidence_names[]; /* "clean" "slow" ... "fatal" */

/* The tests of the suspect. */
enum blame_ladder { LADDER_NOT_RUN, LADDER_RUNNING, LADDER_EXHAUSTED, LADDERS };
extern const char *const blame_ladder_names[]; /* "not run" "running" "exhausted" */

/*
 * This end of a link, tested by itself and with a third host that is known to be good. Between:
 * both ends are good with others, and slow with each other.
 */
enum blame_end { END_UNKNOWN, END_GOOD, END_BAD, END_BETWEEN, ENDS };

/* Why a suspect is at most probed. */
enum blame_limit {
	LIMIT_NONE,
	LIMIT_COARSE, /* its windows have no ages: nobody knows when they were */
	LIMIT_BOOTED, /* the host is not the one that was slow any more */
	LIMITS
};

struct blame_input {
	int class;	   /* enum blame_class */
	int counts;	   /* enum blame_counts */
	int evidence;	   /* enum blame_evidence */
	int ladder;	   /* enum blame_ladder */
	int end;	   /* enum blame_end; of class link alone */
	int limit;	   /* enum blame_limit */
	bool slow;	   /* the job takes at least BLAME_SLOW times what it could */
	bool identifiable; /* another host does the same work; else the class is taken as unclear */
};

/* So slow that its owner is told though nobody knows why. */
#define BLAME_SLOW 1.1

/* From the mildest to the hardest. */
enum blame_action {
	BLAME_ACQUIT, /* nothing was found where it would show: this job's suspicion is ignored */
	BLAME_WATCH,  /* nothing now */
	BLAME_OWNER,  /* the job's owner is told; on-call is not */
	BLAME_PROBE,  /* test the host: its ladder, or `again` one check */
	BLAME_EVICT,
	BLAME_ACTIONS
};
extern const char *const blame_action_names[]; /* "acquit" "watch" "owner" "probe" "evict" */

/* What a person is told besides. */
enum blame_incident {
	BLAME_QUIET,
	BLAME_SET_UP,	   /* the host is set up otherwise */
	BLAME_CANNOT_TELL, /* all was tested, and it is neither shown nor ruled out */
	BLAME_OF_DOMAIN,   /* both ends are well: what is between them */
	BLAME_ACCUSED,	   /* tests acquitted it, and several jobs accuse it all the same */
	BLAME_SILICON,	   /* it is as slow as the job says, and no test can make it bad for that */
	BLAME_INCIDENTS
};
extern const char *const blame_incident_names[];

struct blame_decision {
	int action;	    /* enum blame_action */
	int incident;	    /* enum blame_incident */
	bool again;	    /* BLAME_PROBE: the check that failed, now; else the whole ladder */
	const char *reason; /* a clause for people; static */
	unsigned row;	    /* of the table, from 0: for tests and records */
};

/* The first row that matches. Members out of range match only the last one: watch. */
struct blame_decision blame_decide(const struct blame_input *in);

/* May a cause of this class be a host at all? */
bool blame_may_accuse(int class);

/* Is it this host alone that is slow? Of the others two hosts are suspects, or more. */
bool blame_of_host(int class);

/* Is a suspect of this class tested by itself? Of a link that is the first rung: pair_rungs.h. */
bool blame_tests_host(int class);

/*
 * Can the check show what the class says? Wrong data never does: it slows no job, and its own rule
 * takes more care.
 */
bool blame_shows(int class, const char *check);

/*
 * ... of a host of a group that is accused as a whole? What it suffers from may lie between its
 * hosts: what shows a link shows it too.
 */
bool blame_shows_group(int class, const char *check);

/*
 * Of a check that shows the class: is it what a host must have passed to be clear of it? What it
 * suffers from may show in others first; that they pass rules nothing out.
 */
bool blame_clears(int class, const char *check);

/* What such checks are called, for people; NULL: none is known. Static. */
const char *blame_clearing(int class);

/*
 * Can a host be slow in this way because this setting, "gpu.ecc_mode=off" or only its key, is
 * another one than that of its like? True of a setting that nobody knows: it may. `_group`: or a
 * host of a group that is accused as a whole, as above.
 */
bool blame_may_slow(int class, const char *setting);
bool blame_may_slow_group(int class, const char *setting);

/* The tests that a suspect of this class gets, as words for people; NULL: none. Static. */
const char *blame_rungs(int class);

/* How far what a job says goes. */
enum blame_reach {
	BLAME_TO_EVICT, /* a finding that fits counts as reproduced, and where there is none it is
			   tested */
	BLAME_TO_TEST,	/* it is tested, and no more */
	BLAME_TO_HOLD,	/* it waits for its test, and no job is to start on it: of a group alone */
	BLAME_TO_TELL,	/* that it would be tested is told */
};

/*
 * What a good host in its place would give the job that blames it, as the plan of the job has it
 * (docs/jobs.md). It decides nothing by itself: of hosts that wait for the same budget those go
 * first that gain most (decide.h).
 */
struct blame_gain {
	bool known;  /* false: the job has no plan, or that says nothing of the host */
	double part; /* of a step, 0 to 1 */
	double gpus; /* of the job: so many save that part of their time */
};

/* What a job says of a host that was judged; zero: nothing. */
struct blame {
	int class;   /* enum blame_class */
	int reach;   /* enum blame_reach */
	char *job;   /* how people call it, owned; NULL: a job without a name */
	char *check; /* to evict: the one whose failures prove it, owned; NULL: any that fits */
	uint64_t since_us; /* the first of its windows began; not to evict: a test since then answers */
	/*
	 * Not to evict: when the newest test that answers it was answered, by the record of tests,
	 * which outlives a restart; 0: none was. A run that nobody ordered is no answer.
	 */
	uint64_t answered_us;
	const char *rung;  /* the profile that is to be run: rungs.h; NULL: all. Static */
	bool climbs;	   /* at once: it is no repetition of what failed */
	uint64_t again_us; /* it is one, and counts from then on; 0: it is none */
	uint64_t until_us; /* it holds before then */
	bool diagnosed;	   /* nobody accuses it: all hosts of the job are tested */
	uint64_t group;	   /* equal for the hosts that are accused as a whole; 0: it is alone */
	struct blame_gain gain;
};

/* With copies of its own of what it points at: release it. */
struct blame blame_copy(const struct blame *blame);
void blame_release(struct blame *blame);

bool blame_equals(const struct blame *a, const struct blame *b);

/* Evidence counts from so long before the window on: the fault was there when the job felt it. */
#define BLAME_BEFORE_US (10 * USEC_PER_MIN)

/* Does `a` ask for more than `b`, which may say nothing? */
bool blame_is_harder(const struct blame *a, const struct blame *b);

/* Does it accuse the host now? */
bool blame_holds(const struct blame *blame, uint64_t now_us);

/*
 * The GPUs' worth of work that its job gains once a good host is in its place: comparable between
 * jobs. Negative: nobody knows, as of what holds no more and of numbers that are none.
 */
double blame_worth(const struct blame *blame, uint64_t now_us);

/* ... of what this check measured at `seen_us`? */
bool blame_agrees(const struct blame *blame, const char *check, uint64_t seen_us, uint64_t now_us);

/*
 * ... so that it counts as reproduced? What else was low beside what proves it, in the one test
 * that measured both, is no proof: it has tests of its own to fail.
 */
bool blame_fits(const struct blame *blame, const char *check, uint64_t seen_us, uint64_t now_us);
