/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diagnosis of a job (MegaScale, arXiv 2402.15627, 4.1): it is stopped, all its hosts are tested,
 * and bad ones are left out when it restarts. Pure: from what is known of its hosts to the tests to
 * order next, and finally to the result.
 *
 *	each host by itself, in parallel --> those that passed with each other --> concluded
 *
 * - Each host is asked once: at most n tests. Those that passed are measured with each other in one
 *   campaign of at most diagnosis_rounds(n) = ceil(log2(n)) + 2 rounds, which halves slow groups;
 *   hosts known to be good take part too, since two bad ones would defeat halving.
 * - A host without a result, and one about which the campaign could not decide, is neither left out
 *   nor acquitted; the conclusion is then not exact, and says what would be needed.
 * - A host is acquitted if it passed by itself and with others.
 * - At most `per_domain` hosts of a rack are tested at once, starting JOB_JUDGE_APART_US apart, and
 *   `at_once` in all, including tests that others asked for.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/job_judge.h"

enum {
	DIAGNOSIS_HOSTS_MAX = 256, /* of a job */
	DIAGNOSIS_GROUP_MIN = 3,   /* with fewer in a campaign no host can be named */
	DIAGNOSIS_GROUP_MAX = 64,  /* hosts of one collective */
	DIAGNOSIS_GOOD_MAX = 2,	   /* known to be good, that take part */
};

/* State of a host's own test. */
enum diagnosis_test {
	DIAGNOSIS_NOT_ASKED,
	DIAGNOSIS_ASKED,
	DIAGNOSIS_PASSED,
	DIAGNOSIS_FAILED,
	DIAGNOSIS_NOTHING, /* no result, or a failure that slows no job */
};

/* Result of a host with others, once the campaign is over. */
enum diagnosis_side { DIAGNOSIS_SIDE_UNKNOWN, DIAGNOSIS_SIDE_GOOD, DIAGNOSIS_SIDE_BAD };

/* The campaign. */
enum diagnosis_groups {
	DIAGNOSIS_GROUPS_NOT_RUN,
	DIAGNOSIS_GROUPS_RUN,
	DIAGNOSIS_GROUPS_DONE,
	DIAGNOSIS_GROUPS_CANNOT, /* not possible, or not completed */
};

/* Borrowed. */
struct diagnosis_host {
	const char *name, *domain; /* its rack, or NULL */
	bool idle;		   /* no job runs on it */
	int test;		   /* enum diagnosis_test */
	uint64_t asked_us;	   /* if DIAGNOSIS_ASKED */
	bool under_way;		   /* the same: it has received its order */
	int side;		   /* enum diagnosis_side */
};

struct diagnosis_input {
	const struct diagnosis_host *hosts;
	size_t n;
	const struct job_judge_load *loads; /* everything being tested now, for whatever reason */
	size_t n_loads;
	uint64_t per_domain, at_once;
	bool over;	    /* ask no more hosts, wait for no answer */
	int groups;	    /* enum diagnosis_groups */
	const char *unsure; /* why the campaign says less than it could, a clause; or NULL */
};

enum diagnosis_phase { DIAGNOSIS_HOSTS, DIAGNOSIS_GROUPS, DIAGNOSIS_CONCLUDED };

/* Result for a host. */
enum diagnosis_verdict { DIAGNOSIS_UNKNOWN, DIAGNOSIS_EXCLUDED, DIAGNOSIS_ACQUITTED };

struct diagnosis_step {
	int phase; /* enum diagnosis_phase */
	/* DIAGNOSIS_HOSTS: order a test of it now. DIAGNOSIS_GROUPS: it takes part. */
	bool ask[DIAGNOSIS_HOSTS_MAX];
	/* DIAGNOSIS_CONCLUDED */
	int verdicts[DIAGNOSIS_HOSTS_MAX]; /* enum diagnosis_verdict */
	size_t excluded, acquitted, unknown;
	bool exact; /* everything is known of all of them */
};

/* `in->n` is at most DIAGNOSIS_HOSTS_MAX. */
void diagnosis_next(const struct diagnosis_input *in, uint64_t now_us, struct diagnosis_step *ret);

/* ceil(log2(n)) + 2: rounds of a campaign for a job of `n` hosts, whoever else takes part. */
size_t diagnosis_rounds(size_t n);

/* The conclusion in words, with what would be needed if it is not exact. New memory. */
char *diagnosis_words(const struct diagnosis_input *in, const struct diagnosis_step *concluded);
