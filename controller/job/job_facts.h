/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts about one host for lib/policy/job_judge.h: from its node in the fleet and the tests
 * ordered for it. Pure.
 *
 * - a failed test counts for a check if it tested that check, or ran a rung that measures it while
 *   the check was bad; a passed one cancels earlier failures in what it measures. A test that met
 *   other users of the host has no result, so failures are those of an idle host;
 * - a value that was not compared with anything is no evidence;
 * - a host is tested rung by rung (lib/policy/rungs.h): the next rung is given, and once there is
 *   none the ladder for compute and launch is exhausted. For link the first rung is a full test of
 *   the host, and the second pairs with others, once complete: they say whether this end is bad or,
 *   if it passed, good; a failure in a matching check suffices to be bad. Fabric needs other hosts
 *   and is never exhausted here. The ladder also runs on while a matching test failed and was not
 *   repeated often enough. A test counts if it was ordered after the host became a suspect and
 *   after its last acquittal, and answered in its current boot; the newest that counts decides;
 * - the same for a group accused as a whole, in its class: a host that passed on its own waits for
 *   the others, and then for the result of a campaign with known-good hosts;
 * - a host is clean if its last rung passed in all that it measured, each value that can show the
 *   class was compared with other hosts with equal parameters, and one of the values that clear the
 *   class (blame_clears()) is among them. Parts of the same host are no such reference, as they may
 *   be slow together; nor are its own past or a file;
 * - a host whose last rung passed is still slow, in class compute, if what its slowest part usually
 *   reaches (host_speeds.h) is below that of all but one in two hundred good ones: no test fails a
 *   part in that tail, but the windows show that the job suffers.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/fleet.h"
#include "lib/policy/job_judge.h"

enum {
	JOB_FACTS_TESTS_MAX = 32,    /* tests of a host considered, the newest */
	JOB_FACTS_MISSING_SIZE = 160 /* of a description of missing evidence */
};

/* All borrowed. */
struct job_facts_source {
	const struct fleet *fleet;
	const struct fleet_node *node;	/* NULL: the cluster does not have the host */
	const json_t *actions;		/* actions on it, newest first, as in the API */
	const struct policy *policy;	/* for the number of repetitions of a failure */
	const struct store_whole *run;	/* newest run of all tests; NULL: none, or not looked up */
	const struct host_speed *speed; /* from its tests; NULL: unknown, or not looked up */
	const json_t *pairs;		/* results of pairs in investigations (pair_record.h) */
	uint64_t group;			/* number of the group accused as a whole; 0: none */
	int group_class;		/* class of the group: enum blame_class */
	bool placed;			/* the job certainly ran on it */
	bool busy;			/* it reports ranks of jobs itself */
	bool booted;			/* since the windows that blame it */
	bool run_of_now;		/* `run` is from its current boot */
	uint64_t boot_us;		/* its current boot is known since then; 0: unknown */
	uint64_t suspected_us;		/* blamed by K of N windows since then; 0: it is not */
	uint64_t acquitted_us;		/* last acquittal for this job; 0: none */
};

/* `host` points into the struct, which must not be moved. */
struct job_facts {
	struct job_judge_host host;
	struct job_judge_failure failures[JOB_JUDGE_FAILURES_MAX];
	uint64_t failed_us[JOB_JUDGE_FAILURES_MAX][JOB_JUDGE_TIMES_MAX];
	char missing[BLAME_CLASSES][JOB_FACTS_MISSING_SIZE];
	/* It was fully tested on its own since it is a suspect, with all repetitions due. */
	bool alone, alone_passed;
	bool failing; /* of a group: its last such test failed in what shows the class */
};

/* Borrows `name` and what the source borrows. */
void job_facts_of(const char *name, const struct job_facts_source *source, struct job_facts *ret);

/*
 * Tests count if ordered since then: since it became a suspect or its last acquittal. 0: no
 * suspect.
 */
uint64_t job_facts_since(const struct job_facts_source *source);

/* Results of pairs with it count from then on. */
uint64_t job_facts_pairs_since(const struct job_facts_source *source);

/* Has a test of the whole host that counts passed? Only then `run` and `speed` need to be looked
 * up. */
bool job_facts_passed(const struct job_facts_source *source);

/*
 * Tests ordered since `since_us`, oldest first, for people: an array of {"node", "action", "check"
 * (null: the whole host), "ordered", "done" (null: in progress), "result"}.
 */
json_t *job_facts_tests(const char *name, const json_t *actions, uint64_t since_us);
