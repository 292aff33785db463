/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which end of a slow link is bad, from tests of pairs of hosts: the ends with each other, and each
 * with third hosts known to be good. Pure.
 *
 * Model. All pairs of ends and thirds are measured. A pair is compared with the best of its kind,
 * pairs within a switch and pairs between switches separately; the only pair of its kind says
 * nothing. As in campaigns, fewer than half of the hosts are assumed to be bad: of three hosts at
 * most one. Invariants, tested over all inputs:
 *
 * - An end is bad only if it is slow with at least two partners, good with none, and one of those
 *   partners is a third that is good with somebody else: without a third nobody is bad.
 * - An end is good only if it is good with a third, slow with none, and measured with every other
 *   end: a slow pair of ends is then due to the other end, or to what lies between them. A third
 *   that is slow with everybody, including the other third, is bad itself and ignored. While that
 *   is unchanged, worse pairs of an end never make it good.
 * - Everything else is unknown, with what would be needed.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"
#include "lib/policy/blame.h"

enum {
	PAIR_RUNGS_ENDS_MAX = 4,
	PAIR_RUNGS_THIRDS_MAX = 2, /* one may be bad itself */
	PAIR_RUNGS_HOSTS_MAX = PAIR_RUNGS_ENDS_MAX + PAIR_RUNGS_THIRDS_MAX,
};

/* A pair is never low for less: peers differ by as much (PAIRING_SLACK of campaigns). */
#define PAIR_RUNGS_SLACK 0.07

enum pair_rungs_pair { PAIR_NOT_MEASURED, PAIR_LOW, PAIR_GOOD, PAIRS };

/* Hosts by number, the ends first. `pairs` is symmetric; its diagonal is ignored. */
struct pair_rungs {
	size_t n_ends, n_thirds;
	int pairs[PAIR_RUNGS_HOSTS_MAX][PAIR_RUNGS_HOSTS_MAX]; /* enum pair_rungs_pair */
};

/* Why nothing is known of an end. */
enum pair_rungs_why {
	PAIR_WHY_NONE,
	PAIR_WHY_NO_THIRD,
	PAIR_WHY_NOT_MEASURED,
	PAIR_WHY_THIRD, /* a third is slow with everybody */
	PAIR_WHY_MIXED, /* the pairs contradict each other */
	PAIR_WHYS
};

struct pair_rungs_answer {
	int ends[PAIR_RUNGS_ENDS_MAX]; /* enum blame_end */
	int why[PAIR_RUNGS_ENDS_MAX];  /* enum pair_rungs_why, for END_UNKNOWN */
};

/* One measured pair: value in B/s, 0: it broke off. */
struct pair_rungs_rate {
	size_t a, b; /* numbers of hosts, a != b */
	double value;
	bool cross; /* through more than one switch */
};

/* `ret->n_ends` and `n_thirds` must be set; rates of hosts beyond them are ignored. */
void pair_rungs_read(const struct pair_rungs_rate *rates, size_t n, struct pair_rungs *ret);

void pair_rungs_decide(const struct pair_rungs *in, struct pair_rungs_answer *ret);

/* What would be needed, a clause for people; NULL: nothing. Static. */
const char *pair_rungs_tells(int why);
