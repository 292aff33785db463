/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lib/policy/job_judge.h wants to know of one host, of what the controller knows: its node in
 * the fleet, and the tests that were ordered of it. Pure.
 *
 *  - a test that failed counts for a check when it was of that check, or by a rung that measures it
 *    while the check was bad; one that passed ends what failed before it, of what it measures. A
 *    test that met other users of the host brings nothing, so those that failed were of an idle host;
 *  - a value that nothing was held against is no evidence;
 *  - a host is tested rung by rung (lib/policy/rungs.h): what is next is told, and once nothing is the
 *    ladder of compute and launch is over. Of link a test of all of the host is the first rung,
 *    and pairs with others, once all is said of them, the second: these say whether this end is bad,
 *    or, where it passed, good; one that failed in what fits is bad by itself. That of fabric needs
 *    other hosts, and is never exhausted here. It is running as well while a test that fits
 *    failed and was not repeated as often as it must be. A test counts that was ordered
 *    after the host became a suspect and after it was acquitted last, and answered in the boot it
 *    has now; of what counts the newest says it all;
 *  - so of a group that is accused as a whole, in its class: one that passed by itself awaits the
 *    others, and then what a campaign with known-good hosts says of it;
 *  - clean is a host whose last rung passed, of all that it measured, when each value that
 *    can show the class was held against other hosts with equal parameters, and one of those
 *    that clear it of the class (blame_clears()) is among them. Parts of the same host are no such
 *    reference: they may be slow together; nor is its own past, nor what a file asks for;
 *  - a host whose last rung passed is slow all the same, in class compute, when what its
 *    slowest part usually reaches (host_speeds.h) is below what one good one in two hundred does
 *    not reach: a test condemns no part of that tail, and the job suffers as the windows say.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/fleet.h"
#include "lib/policy/job_judge.h"

enum {
	JOB_FACTS_TESTS_MAX = 32,    /* tests of a host that are looked at, the newest */
	JOB_FACTS_MISSING_SIZE = 160 /* of what would tell */
};

/* All borrowed. */
struct job_facts_source {
	const struct fleet *fleet;
	const struct fleet_node *node;	/* NULL: the cluster has no such host */
	const json_t *actions;		/* what was done to it, newest first, as the API has it */
	const struct policy *policy;	/* how often a failure is repeated */
	const struct store_whole *run;	/* newest run of all tests; NULL: none, or nobody looked */
	const struct host_speed *speed; /* what its tests say; NULL: not known, or nobody looked */
	const json_t *pairs;		/* what investigations say of pairs (pair_record.h) */
	uint64_t group;	  /* a number for the group that is accused as a whole; 0: it is of none */
	int group_class;  /* of it: enum blame_class */
	bool placed;	  /* the job ran on it for sure */
	bool busy;	  /* it says itself that ranks of jobs run there */
	bool booted;	  /* since the windows that blame it */
	bool run_of_now;  /* `run` is of the boot it has now */
	uint64_t boot_us; /* the boot it has now is known since then; 0: not known */
	uint64_t suspected_us; /* K of N windows blame it since then; 0: they do not */
	uint64_t acquitted_us; /* the job's last acquittal of it; 0: none */
};

/* Its `host` points into it: it stays where it is. */
struct job_facts {
	struct job_judge_host host;
	struct job_judge_failure failures[JOB_JUDGE_FAILURES_MAX];
	uint64_t failed_us[JOB_JUDGE_FAILURES_MAX][JOB_JUDGE_TIMES_MAX];
	char missing[BLAME_CLASSES][JOB_FACTS_MISSING_SIZE];
	/* All of it was tested by itself since it is a suspect, and repeated where that was due. */
	bool alone, alone_passed;
	bool failing; /* of a group: its last such test failed in what shows the class */
};

/* `name` and what the source borrows stay borrowed. */
void job_facts_of(const char *name, const struct job_facts_source *source, struct job_facts *ret);

/*
 * Tests of a suspect count that were ordered since then: since it is one, and since it was
 * acquitted last. 0: it is no suspect.
 */
uint64_t job_facts_since(const struct job_facts_source *source);

/* What is said of pairs with it counts from then on. */
uint64_t job_facts_pairs_since(const struct job_facts_source *source);

/* Has a test of the whole host that counts passed? Only then its `run` and `speed` are asked for. */
bool job_facts_passed(const struct job_facts_source *source);

/*
 * The tests that were ordered since `since_us`, oldest first, for people: an array of {"node",
 * "action", "check" (null: all of the host), "ordered", "done" (null: under way), "result"}.
 */
json_t *job_facts_tests(const char *name, const json_t *actions, uint64_t since_us);
