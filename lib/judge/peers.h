/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may be compared with whom within one report. Peers are measured samples
 * of the same (check, class, params, unit, better side), one of each subject: what
 * is there twice is one peer, of the median value (twins.h). A value is never
 * among its own references. Pure.
 *
 * When half or more of a group is low its median says nothing about who is
 * sick (the breakdown point of a median is 50 %): the group is then spread, its peers
 * are no reference, and nobody is blamed by them.
 */
#pragma once

#include "lib/judge/reference.h"

struct judge_inputs;
struct report;

struct peer_group {
	size_t n;	/* members: subjects */
	size_t n_low;	/* of them low against the others */
	size_t first;	/* sample number of one member */
	double best;	/* best value */
	double typical; /* median of the low ones */
	bool spread;
	bool unresolved; /* spread, and a low one has no other reference; set by the judge */
};

/* One sample's view of its peers. */
struct peer_view {
	bool measured;	  /* it has a measure */
	struct measure m; /* with the policy's floor */
	bool compared;	  /* it belongs to a group; else the rest is not set */
	bool repeat;	  /* a sample before it stands for its subject */
	bool known;	  /* `e` is a reference */
	bool low;	  /* against the others, also within a spread group */
	size_t group;
	struct expectation e; /* n = 0: the others give none; in a spread group not for judging */
};

struct peers {
	struct peer_view *views;   /* one per sample of the report */
	struct peer_group *groups; /* at most one per sample */
	size_t n_groups;
};

/* `inputs` for the policy's floors; never NULL. */
void peers_build(const struct report *report, const struct judge_inputs *inputs, struct peers *ret);

/* measure_of() with the policy's floor. */
bool peers_measure(const struct sample *s, const struct judge_inputs *inputs, struct measure *ret);

/* The standard deviation among parts of good hosts of what this sample is; 0: not known. */
double peers_within(const struct report *report, const struct judge_inputs *inputs, size_t sample);

/* Peers, own history, own usual beside its peers, fleet, SKU file. */
enum { EXPECTATIONS_MAX = 5 };

/*
 * All that a sample is held against: its view of its peers, then own history, then
 * the fleet, then the SKU file; returns how many there are.
 */
size_t peers_expectations(const struct sample *s, const struct judge_inputs *inputs,
			  const struct peer_view *view,
			  struct expectation ret[static EXPECTATIONS_MAX]);

void peers_release(struct peers *p);
