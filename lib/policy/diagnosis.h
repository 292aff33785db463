/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job is diagnosed (MegaScale, arXiv 2402.15627, 4.1): it is stopped, all of its hosts are
 * tested, and those that are bad are left out when it starts again. Pure: from what is known of its
 * hosts to the tests that are to be ordered next, and in the end to what came of them.
 *
 *	each host by itself, side by side --> those that passed with each other --> concluded
 *
 *  - a host is asked once: n tests at most. Those that passed are measured with each other in one
 *    campaign, in diagnosis_rounds(n) = ceil(log2(n)) + 2 rounds at most, in which what is slow is
 *    halved; with them hosts that are known to be good, for two bad ones defeat halving;
 *  - one that brought nothing, and one that the campaign could not tell of, is neither left out nor
 *    acquitted: the conclusion is not exact then, and says what would tell;
 *  - acquitted is who passed by itself and with others;
 *  - at most `per_domain` hosts of a rack are tested at once, which begin JOB_JUDGE_APART_US from
 *    each other, and `at_once` in all, whoever wanted their tests.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/job_judge.h"

enum {
	DIAGNOSIS_HOSTS_MAX = 256, /* of a job */
	DIAGNOSIS_GROUP_MIN = 3,   /* with fewer in a campaign nobody can be named */
	DIAGNOSIS_GROUP_MAX = 64,  /* hosts of one collective */
	DIAGNOSIS_GOOD_MAX = 2,	   /* known to be good, that take part in it */
};

/* Of a host by itself. */
enum diagnosis_test {
	DIAGNOSIS_NOT_ASKED,
	DIAGNOSIS_ASKED,
	DIAGNOSIS_PASSED,
	DIAGNOSIS_FAILED,
	DIAGNOSIS_NOTHING, /* it brought nothing, or what slows no job */
};

/* Of a host with others, once the campaign is over. */
enum diagnosis_side { DIAGNOSIS_SIDE_UNKNOWN, DIAGNOSIS_SIDE_GOOD, DIAGNOSIS_SIDE_BAD };

/* The campaign. */
enum diagnosis_groups {
	DIAGNOSIS_GROUPS_NOT_RUN,
	DIAGNOSIS_GROUPS_RUN,
	DIAGNOSIS_GROUPS_DONE,
	DIAGNOSIS_GROUPS_CANNOT, /* it could not be, or not be brought to its end */
};

/* Borrowed. */
struct diagnosis_host {
	const char *name, *domain; /* its rack, or NULL */
	bool idle;		   /* no job runs on it */
	int test;		   /* enum diagnosis_test */
	uint64_t asked_us;	   /* of DIAGNOSIS_ASKED */
	bool under_way;		   /* likewise: it has its order */
	int side;		   /* enum diagnosis_side */
};

struct diagnosis_input {
	const struct diagnosis_host *hosts;
	size_t n;
	const struct job_judge_load *loads; /* of all that are tested now, whoever wanted it */
	size_t n_loads;
	uint64_t per_domain, at_once;
	bool over;	    /* no more hosts are asked, and no answer is waited for */
	int groups;	    /* enum diagnosis_groups */
	const char *unsure; /* why the campaign tells less than it might, a clause; or NULL */
};

enum diagnosis_phase { DIAGNOSIS_HOSTS, DIAGNOSIS_GROUPS, DIAGNOSIS_CONCLUDED };

/* What came of a host. */
enum diagnosis_verdict { DIAGNOSIS_UNKNOWN, DIAGNOSIS_EXCLUDED, DIAGNOSIS_ACQUITTED };

struct diagnosis_step {
	int phase; /* enum diagnosis_phase */
	/* DIAGNOSIS_HOSTS: a test of it is to be ordered now. DIAGNOSIS_GROUPS: it takes part. */
	bool ask[DIAGNOSIS_HOSTS_MAX];
	/* DIAGNOSIS_CONCLUDED */
	int verdicts[DIAGNOSIS_HOSTS_MAX]; /* enum diagnosis_verdict */
	size_t excluded, acquitted, unknown;
	bool exact; /* all is known of all of them */
};

/* `in->n` is at most DIAGNOSIS_HOSTS_MAX. */
void diagnosis_next(const struct diagnosis_input *in, uint64_t now_us, struct diagnosis_step *ret);

/* ceil(log2(n)) + 2: of a campaign of the hosts of a job of `n`, whoever else takes part. */
size_t diagnosis_rounds(size_t n);

/* What was concluded, in words, with what would tell where it is not exact. New memory. */
char *diagnosis_words(const struct diagnosis_input *in, const struct diagnosis_step *concluded);
