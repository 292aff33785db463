/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which node, link or switch makes collectives between hosts slow: who runs with whom in the
 * next round and, when that is enough, whom to blame.
 *
 * A round is a set of disjoint groups (pairs, or more with PAIRING_BISECT); each runs one
 * collective. First disjoint pairs under one leaf switch, then each suspect with a partner found
 * good, until everything is explained or the rounds are used up (pairing_rounds_max()). Rates are
 * only compared with each other: good is the middle of the highest rates, since fewer than half of
 * the nodes are assumed to be bad; the floor below it and its spread follow the judge's rules
 * (lib/judge/reference.h). A group is as fast as its slowest part (lib/judge/tomography.h), so a
 * bad part is found by who is slow with it and fast without it.
 *
 * A node is blamed only if it is slow with at least two partners, one of them good with somebody
 * else, and neither another explanation nor noise is as likely; a switch only if what is slow under
 * it would otherwise take four bad nodes, or all but one of them while all reach just as much
 * through other switches. Everything else is undecided, with the reason.
 *
 * Rates between switches are compared only when it is known what they should be: from cross_part,
 * from a pair of good nodes that crossed, or from anybody who came through at full rate. If the
 * path between switches is narrower than what three bad nodes of four below one switch carry, these
 * look like the switch.
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
	PAIRING_RESULTS_MAX = 2048, /* further ones are ignored */
	PAIRING_SEATS_MAX = 8192,   /* members of all results together; the same */
	PAIRING_EVERY_TWO_MAX = 64, /* nodes that can all meet in PAIRING_RESULTS_MAX */
	PAIRING_BLAMES_MAX = 16,
	PAIRING_PARTNERS_MIN = 2, /* slow with this many before it is blamed */
	PAIRING_ROUNDS_LEAST = 2, /* rounds of pairs, even if nothing looks slow */
	PAIRING_BAD_MAX = 3,	  /* bad nodes at once that are considered, if fewer than half */
	PAIRING_WORDS_SIZE = 384,
	PAIRING_RAIL_ALL = -1,
};

/* A pair is never called low for a smaller difference (peers differ by as much). */
#define PAIRING_SLACK 0.07

enum pairing_state {
	PAIRING_UNKNOWN,
	PAIRING_KNOWN_GOOD, /* passed with others recently: counts as good elsewhere */
	PAIRING_SUSPECT,    /* paired with somebody good from the first round on */
	PAIRING_GONE,	    /* takes no orders: never paired */
};

struct pairing_node {
	const char *name;
	/* The switch of each rail; NULL: unknown. Nodes with the same ones are neighbours. */
	const char *leaf[PAIRING_RAILS_MAX];
	enum pairing_state state;
	bool nic_passed[PAIRING_RAILS_MAX]; /* its loopback was good: the cause is beyond it */
};

enum pairing_outcome {
	PAIRING_NOT_RUN, /* busy, set-up, not asked: says nothing */
	PAIRING_MEASURED,
	PAIRING_FAILED, /* timed out or broke off */
};

/* The result of a group. Members by node number. */
struct pairing_result {
	const size_t *members;
	size_t n; /* at least 2 */
	int rail; /* the rail that it ran on, or PAIRING_RAIL_ALL */
	enum pairing_outcome outcome;
	double value;			 /* bus bandwidth, B/s, if measured */
	double rails[PAIRING_RAILS_MAX]; /* with PAIRING_RAIL_ALL: of each rail; 0: not measured */
	const size_t *missing; /* who did not arrive, if failed; if empty, it could be anybody */
	size_t n_missing;
};

enum pairing_plan {
	PAIRING_TWO_PASS,   /* pairs, then suspects with good nodes */
	PAIRING_TOURNAMENT, /* all neighbours with each other, in `rounds_max` rounds; maintenance */
	PAIRING_BISECT,	    /* large groups, slow ones are halved: fewer runs, more rounds */
	PAIRING_EVERY_TWO,  /* all pairs once, whatever is between them: for few hosts */
};

struct pairing_problem {
	const struct pairing_node *nodes;
	size_t n_nodes, n_rails;
	const struct pairing_result *results; /* invalid ones are ignored */
	size_t n_results;
	size_t rounds_made;
	size_t rounds_max; /* 0: pairing_rounds_of() */
	enum pairing_plan plan;
	uint64_t seed;
	double cross_part;   /* rate between switches / rate below one; 0: unknown */
	struct center fleet; /* same measurement on other hosts; n = 0: unknown */
};

struct pairing_group {
	size_t first, n; /* members: seats[first] ... */
	int rail;	 /* PAIRING_RAIL_ALL, or the only rail whose switch they share */
	bool cross;	 /* across leaf switches */
};

struct pairing_round {
	struct pairing_group groups[PAIRING_NODES_MAX / 2];
	size_t n_groups;
	size_t seats[PAIRING_NODES_MAX];
	size_t n_seats;
};

enum pairing_kind {
	PAIRING_BLAME_NODE,
	PAIRING_BLAME_LINK,   /* a rail of a node: its NIC, or its link to the switch */
	PAIRING_BLAME_UPLINK, /* the link alone, since the NIC's loopback passed */
	PAIRING_BLAME_LEAF,   /* a leaf switch */
	PAIRING_UNDECIDED,
};

/* Why nobody is blamed. */
enum pairing_why {
	PAIRING_WHY_NONE,     /* somebody is */
	PAIRING_WHY_FEW,      /* not slow with two partners, one of them good elsewhere */
	PAIRING_WHY_TWINS,    /* another part explains it as well */
	PAIRING_WHY_WEAK,     /* may be noise */
	PAIRING_WHY_LEAF,     /* a switch, or several nodes below it */
	PAIRING_WHY_MANY,     /* more than half of the nodes would be bad */
	PAIRING_WHY_ALIKE,    /* all alike, but fewer than half bad nodes could cause that too */
	PAIRING_WHY_ALL_SLOW, /* all are slow compared with the fleet */
	PAIRING_WHY_GONE,     /* left before it was tested again */
	PAIRING_WHY_CROSS,    /* it ran only across switches, where the expected rate is unknown */
	PAIRING_WHY_UNMEASURED, /* no results with it */
};

struct pairing_blame {
	enum pairing_kind kind;
	enum pairing_why why;
	size_t node;	  /* SIZE_MAX for a switch, or for all nodes */
	int rail;	  /* PAIRING_RAIL_ALL, except for a link */
	const char *leaf; /* the blamed switch; borrowed from the problem */
	double ratio;	  /* what it reaches, relative to the others; NAN: unknown */
	size_t n_partners;
	bool absent; /* it did not arrive, so nothing was measured with it */
	char words[PAIRING_WORDS_SIZE];
};

struct pairing_step {
	bool done;		   /* no further round: the blames are final */
	struct pairing_round next; /* unless done */
	/* So far; certain ones first. If `done` and none is certain, everybody is good. */
	struct pairing_blame blames[PAIRING_BLAMES_MAX];
	size_t n_blames;
	size_t rounds_max;
};

/* ceil(log2(n)) + 2; 0 below two nodes. */
size_t pairing_rounds_max(size_t n);

/* For a plan: enough for all to meet if PAIRING_EVERY_TWO, else pairing_rounds_max(). */
size_t pairing_rounds_of(enum pairing_plan plan, size_t n);

/*
 * What to do after `rounds_made` rounds. -EINVAL with the reason for too many nodes or rails, or a
 * node without a name.
 */
int pairing_step(const struct pairing_problem *problem, struct pairing_step *ret, struct err *err);
