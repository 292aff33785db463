/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which end of a slow link is bad, from pairs of hosts: each end with the other, and each with
 * third hosts that are known to be good. Pure.
 *
 * Model. Every two of the ends and thirds are measured with each other. A pair is held against the
 * best of its kind, pairs within a switch and pairs between switches apart; one that is the only
 * one of its kind says nothing. As campaigns do, fewer than half of the hosts are taken to be bad:
 * of three hosts one at most. Invariants, tested over all inputs:
 *
 *  - bad is only an end that is slow with two partners at least, with no partner good, and one of
 *    those partners is a third that is good with somebody else: without a third nobody is bad;
 *  - good is only an end that is good with a third, slow with none, and measured with every other
 *    end: what is slow between the two is the other end, or lies between them. A third that is
 *    slow with everybody, the other third among them, is bad itself and passed over. While that is
 *    as it was, worse pairs of an end never make it good;
 *  - all else is not known, with what would tell.
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

/* Hosts by number, the ends first. `pairs` is symmetric; its diagonal is not looked at. */
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
	int why[PAIR_RUNGS_ENDS_MAX];  /* enum pair_rungs_why: of END_UNKNOWN */
};

/* One pair as it was measured: value in B/s, 0: it broke off. */
struct pair_rungs_rate {
	size_t a, b; /* numbers of hosts, a != b */
	double value;
	bool cross; /* through more than one switch */
};

/* `ret->n_ends` and `n_thirds` are given; rates of hosts beyond them are passed over. */
void pair_rungs_read(const struct pair_rungs_rate *rates, size_t n, struct pair_rungs *ret);

void pair_rungs_decide(const struct pair_rungs *in, struct pair_rungs_answer *ret);

/* What would tell, a clause for people; NULL: all is told. Static. */
const char *pair_rungs_tells(int why);
