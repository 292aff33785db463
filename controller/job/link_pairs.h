/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suspects that are measured with others. The second rung of those of a slow link: once each end
 * was tested by itself and shows nothing, a campaign measures every two of the ends and of third
 * hosts that are known to be good (spares as job_advice.h has them: idle, of their model, in
 * nobody's hands, passed the full profile within the last day; not of the job; those of a rack of
 * the ends first). lib/policy/pair_rungs.h says what that tells. All of it is kept with the
 * investigation (pair_record.h), before it is done.
 *
 *  - what shows an end to be bad is repeated as any failure is (retest.times, retest_spacing);
 *  - a run that brings nothing is tried again, LINK_PAIRS_TRIES in all; one that cannot begin waits
 *    LINK_PAIRS_WAIT_US: then the ends are not known, with what would tell;
 *  - an end that failed by itself ends it: in what fits, it is bad and the others are not; in
 *    anything else pairs with it would tell nothing;
 *  - of a group that is accused as a whole those that passed by themselves are measured too, in one
 *    campaign that halves what is slow, once no host of it is waited for; the same things hold.
 *    As soon as a host of it has failed in what the job suffers from, the others are cleared;
 *  - a campaign ends with the investigation, and when an end leaves it.
 */
#pragma once

#include <jansson.h>

#include "controller/job/investigation.h"
#include "controller/job/job_judging.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;
struct service;

#define LINK_PAIRS_WAIT_US (10 * USEC_PER_MIN)
#define LINK_PAIRS_MOST_US USEC_PER_HOUR /* one campaign goes on so long at most */

enum { LINK_PAIRS_TRIES = 3 };

/* All borrowed. */
struct link_pairs_of {
	struct service *s;
	const struct job_judging_input *in;
	const struct job_judged *judged;
	struct investigation *inv; /* it goes on, in mode enforce */
	struct err *err;
};

/* One step: `inv->pairs` becomes what is to be kept. */
int link_pairs_step(const struct link_pairs_of *w);

/* The investigation is over: nobody waits for its campaign any more. */
void link_pairs_withdraw(struct service *s, const json_t *pairs, const char *why);
