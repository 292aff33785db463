/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one value is held against: an expectation from its peers on the host,
 * from the SKU file, or from the host's own history. Pure.
 *
 * "Low" always means on the bad side: below the floor when higher is better,
 * above it (the floor is then a ceiling) when lower is better.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct sample;

enum {
	/* Fewer values than this give no statistics (the breakdown of a median). */
	REFERENCE_N_MIN = 5,
	/* Own history: the median of the last 20 under the same key. */
	REFERENCE_HISTORY_MAX = 20,
};

/* Iglewicz and Hoaglin's cut of the modified z score. */
#define REFERENCE_K 3.5
/* Below this part of what is expected one reference alone is enough. */
#define REFERENCE_FAR 0.85
/* The tail of good silicon ends about here: GPUs of one model at 3.4 % spread are seen down to 78 %. */
#define REFERENCE_TAIL 0.75
/* Below this part of what others reach no good part is, however long the tail of good silicon. */
#define REFERENCE_BROKEN 0.6
/* No part is so many times as good as what others reach, and so many robust sigmas better. */
#define REFERENCE_IMPOSSIBLE 1.5
#define REFERENCE_IMPOSSIBLE_K 10.0
/* With too few peers for statistics: so far below the best one. */
#define REFERENCE_FEW_SLACK 0.15

/* How a kind of check is compared. */
struct family {
	const char *prefix; /* of the check's name; the first that fits counts */
	double slack;	    /* least distance of the floor, as a part of what is expected */
	bool compared;	    /* with peers and history; a state or a counter is not */
	bool silicon;	    /* parts of one host differ for good, with a long tail of slow ones */
	bool alike;	    /* good hosts do not differ in it as silicon does */
	bool alone; /* not held against the others of its host: their place matters, or a like check
		       does */
	bool heat;  /* never so far out, or so good, that one reference is enough to say so */
	bool count; /* things that are there or not: one short of the SKU file is a fail */
};

/* The family of a check. Never NULL. */
const struct family *family_find(const char *check, const char *unit);

struct measure {
	double value; /* finite */
	bool lower;   /* lower is better */
	const struct family *family;
	double slack; /* the family's, unless a policy says otherwise */
	double k;     /* robust sigmas: REFERENCE_K likewise */
	/* Standard deviation among the parts of good hosts: peers lie at least so far apart; 0: not
	 * known. */
	double within;
};

/* The value of a sample as something to compare; false when it has none, no better side, or an
 * unknown unit. */
bool measure_of(const struct sample *s, struct measure *ret);

/* Is the value not on the bad side of `limit`? A NAN limit is always kept. */
bool measure_keeps(const struct measure *m, double limit);

/* Robust center and spread of values. */
struct center {
	double median, sigma;
	size_t n;
};

struct expectation {
	double expected;
	double floor;  /* the effective one */
	double limit;  /* beyond it the value is far; NAN: never */
	double sigma;  /* robust spread of the values; NAN when they are too few */
	uint64_t n;    /* values behind it */
	int source;    /* enum verdict_source */
	bool low;      /* the value is on the bad side of the floor */
	bool far;      /* so low that no second reference is needed */
	bool deep;     /* low, and alone by so much that few runs tell it */
	bool parts;    /* it knows how far the good parts of the model spread */
	double margin; /* value to floor: below 1 is low; smaller is worse, for both sides */
};

/*
 * From the peers' values, sorted, without the value itself. With `n` of at
 * least REFERENCE_N_MIN: median - max(k sigma, slack median), sigma from the
 * MAD, which of so few is often too small, and at least m->within; with fewer: 15 % below the best,
 * and never far. False when there is nothing to compare relatively (n = 0, or an expected value not
 * above 0).
 */
bool expectation_from_peers(const struct measure *m, const double *sorted, size_t n,
			    struct expectation *ret);

/*
 * The center of the medians of `n` hosts, sorted. A part is held against hosts, so its
 * floor takes both spreads: that of the hosts, and `within`, the standard deviation
 * among the parts of one host (0 when a host has one part).
 */
struct center center_of(const double *sorted, size_t n, double within);

/* The same of medians in any order, which are lost; many of them cost less than to be sorted. */
struct center reference_center(double *values, size_t n, double within);

/* From the center of other hosts; false when they are fewer than REFERENCE_N_MIN. */
bool expectation_from_fleet(const struct measure *m, const struct center *hosts,
			    struct expectation *ret);

/* From own earlier values, any order, at most REFERENCE_HISTORY_MAX; false below REFERENCE_N_MIN. */
bool expectation_from_history(const struct measure *m, const double *values, size_t n,
			      struct expectation *ret);

/*
 * From the SKU file. A NAN floor is made from the family's slack, a NAN
 * expected value is the floor; false when both are NAN. Far: 15 %
 * beyond the floor, which is somebody's pass mark, or any
 * count short.
 */
bool expectation_from_sku(const struct measure *m, double expected, double floor,
			  struct expectation *ret);

/*
 * Is the value better than anything can be that this expects? Then it was not measured right. A SKU
 * file says so where it has a value besides its floor, and few peers say nothing.
 */
bool expectation_is_exceeded(const struct measure *m, const struct expectation *e);

/*
 * The level (enum verdict_level) that `n` expectations of one value give: two
 * that say low, or one that says far: fail; one low: warn; none: pass. One less where only peers
 * and the SKU file say low and the fleet, or to peers alone its own history, lets it pass. Who knows
 * how far all good parts of the model spread knows what the few peers do: they are not
 * counted beside it, unless the part has dropped far below its own history as well.
 */
int expectations_level(const struct expectation *e, size_t n);

/*
 * How it stands to its own history (enum usual_state). What is low in the eyes of others has
 * dropped when a third of that, as a logarithm, was lost since: else it was born so, and this run
 * is low for once.
 */
int expectations_usual(const struct expectation *e, size_t n);

/* Their sources as bits, 1 << enum verdict_source: of all, or of those that say low. */
unsigned expectations_by(const struct expectation *e, size_t n, bool low);

/* Does one of them find it deep? */
bool expectations_deep(const struct expectation *e, size_t n);

/* The one the value does worst against; NULL for n = 0. */
const struct expectation *expectations_worst(const struct expectation *e, size_t n);

/*
 * The text that stands for everything that must be equal in `params` for two
 * values to be compared: its canonical JSON, without settings that are found by
 * comparing (power_limit_w). New memory. Key of own history.
 */
char *params_key(const struct sample *s);

/* What must be equal for two values to be compared. Borrowed; none of them NULL. */
struct kind {
	const char *check, *locality, *unit, *params;
	int better;
};

/* The kind of a sample; what had to be made for it is in `ret_memory`: free it. */
struct kind kind_of(const struct sample *s, char **ret_memory);

/* As strcmp() does. */
int kind_compare(const struct kind *a, const struct kind *b);
