/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one value is compared with: an expectation from its peers on the host, from the SKU file,
 * from the host's own history, or from the fleet. Pure.
 *
 * "Low" always means on the bad side: below the floor if higher is better, above it (the floor is
 * then a ceiling) if lower is better.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct sample;

enum {
	/* Fewer values than this are no basis for statistics (breakdown point of the median). */
	REFERENCE_N_MIN = 5,
	/* Own history: the median of the last 20 values with the same key. */
	REFERENCE_HISTORY_MAX = 20,
};

/* Cut-off of the modified z-score by Iglewicz and Hoaglin. */
#define REFERENCE_K 3.5
/* Below this part of the expected value, one reference alone is enough. */
#define REFERENCE_FAR 0.85
/*
 * The tail of good silicon ends about here: GPUs of a model with 3.4 % spread are seen down to 78
 * %.
 */
#define REFERENCE_TAIL 0.75
/* Below this part of what others reach, no part is good, however long the tail of good silicon. */
#define REFERENCE_BROKEN 0.6
/* No part reaches this many times what others reach while being this many robust sigmas better. */
#define REFERENCE_IMPOSSIBLE 1.5
#define REFERENCE_IMPOSSIBLE_K 10.0
/* With too few peers for statistics: the floor is this far below the best one. */
#define REFERENCE_FEW_SLACK 0.15

/* How a kind of check is compared. */
struct family {
	const char *prefix; /* of the check's name; the first match counts */
	double slack;	    /* least distance from expected value to floor, relative */
	bool compared;	    /* with peers and history; false for states and counters */
	bool silicon; /* parts of one host differ permanently, with a long tail of slow ones */
	bool alike;   /* good hosts are more alike in it than silicon is */
	bool alone; /* not compared with its host's others: position matters, or another check does it */
	bool heat;  /* one reference alone never decides, however far off or good the value is */
	bool count; /* things that are present or not: fewer than in the SKU file is a fail */
};

/* The family of a check; never NULL. */
const struct family *family_find(const char *check, const char *unit);

struct measure {
	double value; /* finite */
	bool lower;   /* lower is better */
	const struct family *family;
	double slack; /* the family's, unless the policy sets one */
	double k;     /* robust sigmas: REFERENCE_K, unless the policy sets one */
	/*
	 * Standard deviation among parts of good hosts: peers are taken to vary at least this much;
	 * 0: not known.
	 */
	double within;
};

/*
 * The comparable value of a sample. Returns false if it has no value, no better side, or an unknown
 * unit.
 */
bool measure_of(const struct sample *s, struct measure *ret);

/* True if the value is not on the bad side of `limit`; always true for NAN. */
bool measure_keeps(const struct measure *m, double limit);

/* Robust center and spread of some values. */
struct center {
	double median, sigma;
	size_t n;
};

struct expectation {
	double expected;
	double floor; /* the effective one */
	double limit; /* beyond it the value is `far`; NAN: never */
	double sigma; /* robust spread of the values; NAN if they are too few */
	uint64_t n;   /* number of values it is based on */
	int source;   /* enum verdict_source */
	bool low;     /* the value is on the bad side of the floor */
	bool far;     /* so low that no second reference is needed */
	bool deep;    /* low, and so far from all others that a few runs suffice to say so */
	bool parts;   /* it is based on how far good parts of the model spread */
	double margin; /* value to floor: below 1 is low, smaller is worse, whichever side is better */
};

/*
 * From the peers' values, sorted, without the value itself. With `n` >= REFERENCE_N_MIN the floor
 * is median - max(k sigma, slack median); sigma is from the MAD, which is often too small for so
 * few values, and at least m->within. With fewer it is 15 % below the best, and the value is never
 * far. Returns false if no relative comparison is possible (n = 0, or the expected value is not
 * above 0).
 */
bool expectation_from_peers(const struct measure *m, const double *sorted, size_t n,
			    struct expectation *ret);

/*
 * The center of the sorted medians of `n` hosts. Since parts are compared with hosts, its spread
 * includes both that of the hosts and `within`, the standard deviation among the parts of one host
 * (0 if a host has one part).
 */
struct center center_of(const double *sorted, size_t n, double within);

/*
 * The same for medians in any order, which are overwritten. Cheaper than sorting if there are many.
 */
struct center reference_center(double *values, size_t n, double within);

/* From the center of other hosts. Returns false if there are fewer than REFERENCE_N_MIN. */
bool expectation_from_fleet(const struct measure *m, const struct center *hosts,
			    struct expectation *ret);

/* From its own values, any order, at most REFERENCE_HISTORY_MAX. False if below REFERENCE_N_MIN. */
bool expectation_from_history(const struct measure *m, const double *values, size_t n,
			      struct expectation *ret);

/*
 * From the SKU file. If `floor` is NAN it is derived from the family's slack; if `expected` is NAN
 * it is the floor. Returns false if both are NAN. Far: 15 % beyond the floor, which somebody chose
 * as a pass mark, or any count that is short.
 */
bool expectation_from_sku(const struct measure *m, double expected, double floor,
			  struct expectation *ret);

/*
 * True if the value is better than is possible given this expectation, so it was not measured
 * correctly. A SKU file counts only if it has a value besides its floor, and few peers do not
 * count.
 */
bool expectation_is_exceeded(const struct measure *m, const struct expectation *e);

/*
 * The level (enum verdict_level) that `n` expectations of one value give. Two that say low, or one
 * that says far: fail; one low: warn; none: pass. It is one level less if only peers and the SKU
 * file say low and the fleet passes the value, or if only peers do and its own history passes it. A
 * reference that knows how far good parts of the model spread includes what the few peers know:
 * then peers are not counted, unless the part has also dropped far below its own history.
 */
int expectations_level(const struct expectation *e, size_t n);

/*
 * Compares the value with its own history (enum usual_state). A part that others find low has
 * dropped if at least a third of its shortfall, as a logarithm, is a loss against its own history;
 * else it was born slow, and this run is just a little lower.
 */
int expectations_usual(const struct expectation *e, size_t n);

/* The sources as bits, 1 << enum verdict_source: of all expectations, or of those that say low. */
unsigned expectations_by(const struct expectation *e, size_t n, bool low);

/* True if one of them says deep. */
bool expectations_deep(const struct expectation *e, size_t n);

/* The one against which the value is worst; NULL for n = 0. */
const struct expectation *expectations_worst(const struct expectation *e, size_t n);

/*
 * Everything in `params` that must be equal for two values to be comparable, as canonical JSON;
 * without settings whose effect a comparison should find (power_limit_w). New memory. Part of the
 * key of own history.
 */
char *params_key(const struct sample *s);

/* Everything that must be equal for two values to be comparable. Borrowed, never NULL. */
struct kind {
	const char *check, *locality, *unit, *params;
	int better;
};

/* The kind of a sample. `ret_memory` receives what was allocated for it; the caller frees it. */
struct kind kind_of(const struct sample *s, char **ret_memory);

/* Orders kinds, like strcmp(). */
int kind_compare(const struct kind *a, const struct kind *b);
