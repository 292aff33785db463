/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which node, link or switch makes collectives between hosts slow: who runs
 * with whom in the next round, and, when that is enough, whom to blame.
 *
 * A round is a set of disjoint groups (pairs, or more with PAIRING_BISECT); each
 * runs one collective. First disjoint pairs under one leaf switch, then each
 * suspect with a partner found good, until everybody is explained or the
 * rounds are used up (pairing_rounds_max()). Rates are compared with each
 * other only: what is good is the middle of the highest rates, as fewer than half
 * of the nodes are taken to be bad; the floor below it and its spread are the
 * judge's (lib/judge/reference.h). A group carries what its slowest part lets
 * through (lib/judge/tomography.h), so a part is found by who is slow with it and
 * fast without it.
 *
 * Blamed is only who is slow with two partners or more, one of them good with
 * somebody else, when nothing else explains it as well and noise does not. A switch,
 * when what is slow under it would otherwise take four bad nodes, or all of them
 * but one while all reach just that much through other switches too. Everything
 * else is undecided, with the reason.
 *
 * What goes between switches is compared only when it is known what that should
 * be: cross_part, a pair of good nodes that crossed, or somebody who came through at
 * full rate. Where the way between is narrower than three bad nodes of four below
 * one switch let through, they look like the switch.
 *
 * Pure: the same problem gives the same step.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/judge/reference.h"

struct err;

enum {
	PAIRING_NODES_MAX = 256,
	PAIRING_RAILS_MAX = 8,
	PAIRING_RESULTS_MAX = 2048, /* the first so many count */
	PAIRING_SEATS_MAX = 8192,   /* members of all results together likewise */
	PAIRING_EVERY_TWO_MAX = 64, /* nodes that can all meet within PAIRING_RESULTS_MAX */
	PAIRING_BLAMES_MAX = 16,
	PAIRING_PARTNERS_MIN = 2, /* to be blamed: slow with so many */
	PAIRING_ROUNDS_LEAST = 2, /* of pairs, also when nothing looks slow */
	PAIRING_BAD_MAX = 3, /* so many bad nodes at once are reckoned with, below half of them */
	PAIRING_WORDS_SIZE = 384,
	PAIRING_RAIL_ALL = -1,
};

/* A pair is never called low for less than this (peers differ by as much). */
#define PAIRING_SLACK 0.07

enum pairing_state {
	PAIRING_UNKNOWN,
	PAIRING_KNOWN_GOOD, /* passed with others lately: counts as good elsewhere */
	PAIRING_SUSPECT,    /* paired with somebody good from the first round on */
	PAIRING_GONE,	    /* does not take orders: never paired */
};

struct pairing_node {
	const char *name;
	/* The switch of each rail; NULL: not known. Nodes with the same ones are neighbours. */
	const char *leaf[PAIRING_RAILS_MAX];
	enum pairing_state state;
	bool nic_passed[PAIRING_RAILS_MAX]; /* its loopback was good: what is slow lies behind it */
};

enum pairing_outcome {
	PAIRING_NOT_RUN, /* busy, set-up, not asked: says nothing */
	PAIRING_MEASURED,
	PAIRING_FAILED, /* out of time or broken off */
};

/* What a group did. Members by number of the node. */
struct pairing_result {
	const size_t *members;
	size_t n; /* at least 2 */
	int rail; /* the one that it ran on, or PAIRING_RAIL_ALL */
	enum pairing_outcome outcome;
	double value;			 /* bus bandwidth, B/s, when measured */
	double rails[PAIRING_RAILS_MAX]; /* with PAIRING_RAIL_ALL: of each rail; 0: not measured */
	const size_t *missing;		 /* who did not arrive, when failed; none: anybody */
	size_t n_missing;
};

enum pairing_plan {
	PAIRING_TWO_PASS,   /* pairs, then suspect x good */
	PAIRING_TOURNAMENT, /* every two neighbours once, in `rounds_max` rounds; for the
			       maintenance window */
	PAIRING_BISECT,	    /* large groups, the slow ones halved: fewer runs, more rounds */
	PAIRING_EVERY_TWO,  /* every two once, whatever lies between them: of a few hosts */
};

struct pairing_problem {
	const struct pairing_node *nodes;
	size_t n_nodes, n_rails;
	const struct pairing_result *results; /* that make no sense are passed over */
	size_t n_results;
	size_t rounds_made;
	size_t rounds_max; /* 0: pairing_rounds_of() */
	enum pairing_plan plan;
	uint64_t seed;
	double cross_part;   /* of the rate below a switch that goes between them; 0: not known */
	struct center fleet; /* of the same measurement on other hosts; n = 0: not known */
};

struct pairing_group {
	size_t first, n; /* its members: seats[first] ... */
	int rail;	 /* PAIRING_RAIL_ALL, or the only one whose switch they share */
	bool cross;	 /* through more than one leaf switch */
};

struct pairing_round {
	struct pairing_group groups[PAIRING_NODES_MAX / 2];
	size_t n_groups;
	size_t seats[PAIRING_NODES_MAX];
	size_t n_seats;
};

enum pairing_kind {
	PAIRING_BLAME_NODE,
	PAIRING_BLAME_LINK,   /* a rail of a node: its NIC or the link to the switch */
	PAIRING_BLAME_UPLINK, /* the same when the NIC's loopback passed: the link */
	PAIRING_BLAME_LEAF,   /* a leaf switch */
	PAIRING_UNDECIDED,
};

/* Why nobody is blamed for it. */
enum pairing_why {
	PAIRING_WHY_NONE,     /* somebody is */
	PAIRING_WHY_FEW,      /* not slow with two partners of which one is good elsewhere */
	PAIRING_WHY_TWINS,    /* another part explains it as well */
	PAIRING_WHY_WEAK,     /* it may be noise */
	PAIRING_WHY_LEAF,     /* a switch, or several nodes below it */
	PAIRING_WHY_MANY,     /* more than half of the nodes would be bad */
	PAIRING_WHY_ALIKE,    /* all alike, which fewer than half bad nodes could make too */
	PAIRING_WHY_ALL_SLOW, /* all are slow against the fleet */
	PAIRING_WHY_GONE,     /* left before it was tried again */
	PAIRING_WHY_CROSS, /* it ran only between switches, and what that should reach is not known */
	PAIRING_WHY_UNMEASURED, /* no result with it */
};

struct pairing_blame {
	enum pairing_kind kind;
	enum pairing_why why;
	size_t node;	  /* SIZE_MAX for a switch and for the whole */
	int rail;	  /* PAIRING_RAIL_ALL but for a link */
	const char *leaf; /* the switch blamed; borrowed from the problem */
	double ratio;	  /* of what it reaches to what the others do; NAN: not known */
	size_t n_partners;
	bool absent; /* it did not arrive: nothing was measured with it */
	char words[PAIRING_WORDS_SIZE];
};

struct pairing_step {
	bool done;		   /* no further round: the blames are final */
	struct pairing_round next; /* unless done */
	/* By now; certain ones first. With `done` and none of them: everybody is good. */
	struct pairing_blame blames[PAIRING_BLAMES_MAX];
	size_t n_blames;
	size_t rounds_max;
};

/* ceil(log2(n)) + 2; 0 for fewer than two nodes. */
size_t pairing_rounds_max(size_t n);

/* Of a plan: as many as let all meet in a circle for PAIRING_EVERY_TWO, else pairing_rounds_max(). */
size_t pairing_rounds_of(enum pairing_plan plan, size_t n);

/*
 * What to do after `rounds_made` rounds. -EINVAL with the reason for more nodes or
 * rails than the limits above, or a node without a name.
 */
int pairing_step(const struct pairing_problem *problem, struct pairing_step *ret, struct err *err);
