/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lib/policy/job_judge.h wants to know of one host, of what the controller knows: its node in
 * the fleet, and the tests that were ordered of it. Pure.
 *
 *  - a test that failed counts for a check when it was of that check, or of the whole host while the
 *    check was bad; one that passed ends what failed before it. A test that met other users of
 *    the host brings nothing, so those that failed were of an idle host;
 *  - a value that nothing was held against is no evidence;
 *  - which tests of a ladder were run is not known: it was not run, or a test is under way, and no
 *    host is called clean.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/fleet.h"
#include "lib/policy/job_judge.h"

/* Tests of a host that are looked at, the newest. */
enum { JOB_FACTS_TESTS_MAX = 32 };

/* All borrowed. */
struct job_facts_source {
	const struct fleet *fleet;
	const struct fleet_node *node; /* NULL: the cluster has no such host */
	const json_t *actions;	       /* what was done to it, newest first, as the API has it */
	bool placed;		       /* the job ran on it for sure */
	bool busy;		       /* it says itself that ranks of jobs run there */
	bool booted;		       /* since the windows that blame it */
	uint64_t boot_us;	       /* the boot it has now is known since then; 0: not known */
	uint64_t suspected_us;	       /* K of N windows blame it since then; 0: they do not */
};

/* Its `host` points into it: it stays where it is. */
struct job_facts {
	struct job_judge_host host;
	struct job_judge_failure failures[JOB_JUDGE_FAILURES_MAX];
	uint64_t failed_us[JOB_JUDGE_FAILURES_MAX][JOB_JUDGE_TIMES_MAX];
};

/* `name` and what the source borrows stay borrowed. */
void job_facts_of(const char *name, const struct job_facts_source *source, struct job_facts *ret);

/*
 * The tests that were ordered since `since_us`, oldest first, for people: an array of {"node",
 * "action", "check" (null: all of the host), "ordered", "done" (null: under way), "result"}.
 */
json_t *job_facts_tests(const char *name, const json_t *actions, uint64_t since_us);
