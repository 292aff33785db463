/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suspects measured with other hosts. For a slow link this is the second rung: once each end was
 * tested on its own and shows nothing, a campaign measures every pair among the ends and third
 * hosts known to be good (spares as in job_advice.h: idle, of their model, not used by anybody,
 * full test passed within the last day; not of the job; those in a rack of the ends first).
 * lib/policy/pair_rungs.h evaluates the results. Everything is stored with the investigation
 * (pair_record.h) before it is done.
 *
 * - a result that shows an end to be bad is repeated like any failure (retest.times,
 *   retest_spacing);
 * - a run without results is repeated, LINK_PAIRS_TRIES in all; one that cannot begin waits at most
 *   LINK_PAIRS_WAIT_US: then the ends are unknown, with what evidence is missing;
 * - an end that fails on its own ends it: in a matching check, that end is bad and the others are
 *   not; in any other check, pairs with it would show nothing;
 * - of a group accused as a whole, those that passed on their own are measured too, in one
 *   bisecting campaign, once no host of the group is waited for; the same rules apply. As soon as a
 *   host of the group fails in what the job suffers from, the others are cleared;
 * - a campaign ends with the investigation, and when an end leaves it.
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
#define LINK_PAIRS_MOST_US USEC_PER_HOUR /* longest duration of a campaign */

enum { LINK_PAIRS_TRIES = 3 };

/* All borrowed. */
struct link_pairs_of {
	struct service *s;
	const struct job_judging_input *in;
	const struct job_judged *judged;
	struct investigation *inv; /* open, in mode enforce */
	struct err *err;
};

/* Advance by one step: `inv->pairs` becomes what has to be stored. */
int link_pairs_step(const struct link_pairs_of *w);

/* The investigation is over, and its campaign is no longer needed. */
void link_pairs_withdraw(struct service *s, const json_t *pairs, const char *why);
