/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ladder of tests, by itself, of a host that a job blames: which rung is next. Pure.
 *
 * Model. A rung is a profile (policies/profiles.yaml), shortest first; the last one measures
 * everything that can show the class in a test of one host. Invariants, tested over all inputs:
 *
 * - A failure that fits the class is repeated with the same rung until proven. If there is time
 *   before the repetition counts, the last rung runs first, once; what it passes is not shown, and
 *   nothing is repeated.
 * - Only the last rung ends a ladder without proof: a pass of a short one rules nothing out.
 * - Each answer that is not to be repeated ends the ladder or leads to a later rung, so every
 *   ladder ends.
 *
 * An agent that lacks the profile answers with a run of RUNGS_WHOLE, which counts as the last rung
 * of every ladder.
 */
#pragma once

#include <stddef.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

/* The profile that measures everything, and that every agent has. */
#define RUNGS_WHOLE "full"

/* Longest duration of the last rung, including its order and its answer. */
#define RUNGS_LAST_US (3 * USEC_PER_MIN)

/* The first test in a row without a result is repeated after this time: its devices may be free. */
#define RUNGS_LOST_AGAIN_US USEC_PER_MIN

enum {
	RUNGS_MAX = 2,	   /* of one ladder */
	RUNGS_LOST_MAX = 2 /* rungs in a row without a result; then everything is measured */
};

/* The newest test of the whole host that counts, and its result. */
struct rungs_test {
	const char *profile; /* that ran */
	bool repeat;	     /* something that fits failed, but not often enough to prove it */
	bool proven;	     /* something that fits failed often enough to prove it */
	bool has_time;	     /* repeat: the last rung was not run since, and fits in before */
	const char *shows; /* repeat: a shorter rung that failed and measures all of it; or NULL */
};

/* Rung number `nth`, from 0, of a class (enum blame_class); NULL: no more. Static. */
const char *rungs_at(int class, size_t nth);

/* The static name of a profile if it is that of a rung, or RUNGS_WHOLE; else NULL. */
const char *rungs_find(const char *profile);

/* True if it is a rung that does not measure everything. */
bool rungs_is_short(const char *profile);

/* True if a test with this profile belongs to the ladder of the class; if it ends the ladder. */
bool rungs_has(int class, const char *profile);
bool rungs_is_last(int class, const char *profile);

/* True if a run of the profile measures the check, so that a pass says something about it. */
bool rungs_measure(const char *profile, const char *check);

/*
 * The profile to run next; `newest` is NULL if none of the ladder ran yet. Returns NULL if the
 * ladder is over, or the class has none. Static.
 */
const char *rungs_next(int class, const struct rungs_test *newest);
