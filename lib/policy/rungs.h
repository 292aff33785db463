/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ladder by which a host that a job blames is tested by itself: which rung is next. Pure.
 *
 * Model. A rung is a profile (policies/profiles.yaml), the shortest first; the last one measures
 * all that can show the class by a test of one host. Invariants, tested over all inputs:
 *
 *  - what failed and fits the class is repeated by the same rung, until that is proven. Where there
 * is time before it may be repeated, the last rung looks at it first, once: what it passes is not
 *    shown, and nothing is repeated;
 *  - nothing but the last rung ends a ladder without proof: what a short one passed rules nothing
 *    out;
 *  - each answer that is to be repeated no more ends the ladder or leads to a later rung: every
 *    ladder ends.
 *
 * An agent that does not have the profile answers with a run of RUNGS_WHOLE, which counts as the
 * last rung of every ladder.
 */
#pragma once

#include <stddef.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

/* The profile that measures all, and that every agent has. */
#define RUNGS_WHOLE "full"

/* The last one takes at most so long, with its order and its answer. */
#define RUNGS_LAST_US (3 * USEC_PER_MIN)

/* The first one in a row that brought nothing is repeated so soon: its devices may be free. */
#define RUNGS_LOST_AGAIN_US USEC_PER_MIN

enum {
	RUNGS_MAX = 2,	   /* of one ladder */
	RUNGS_LOST_MAX = 2 /* rungs in a row that brought nothing before all is measured instead */
};

/* What a test of the whole host brought, the newest that counts. */
struct rungs_test {
	const char *profile; /* that ran */
	bool repeat;	     /* something that fits failed, and not as often yet as proves it */
	bool proven;	     /* something that fits failed as often as that takes */
	bool has_time;	     /* repeat: the last one was not run since, and fits in before */
	const char *shows; /* repeat: a shorter one that failed, and measures all of it; or NULL */
};

/* The rung `nth`, from 0, of a class (enum blame_class); NULL: there are no more. Static. */
const char *rungs_at(int class, size_t nth);

/* Is it the profile of a rung, or RUNGS_WHOLE? Its static name, or NULL. */
const char *rungs_find(const char *profile);

/* Is it the profile of a rung that measures less? */
bool rungs_is_short(const char *profile);

/* Is a test by this profile one of the ladder of the class; and does it end that? */
bool rungs_has(int class, const char *profile);
bool rungs_is_last(int class, const char *profile);

/* Does a run of the profile measure the check, so that one that passed says something of it? */
bool rungs_measure(const char *profile, const char *check);

/*
 * The profile that is to be run next, `newest` NULL: none of the ladder was yet. NULL: the ladder
 * is over, or the class has none. Static.
 */
const char *rungs_next(int class, const struct rungs_test *newest);
