/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which samples of a report may be compared with each other. Peers are measured samples of the same
 * (check, class, params, unit, better side), one per subject: a subject that was measured twice is
 * one peer, with its median (twins.h). A value is never among its own references. Pure.
 *
 * If half or more of a group are low, its median cannot tell which ones are bad (the breakdown
 * point of a median is 50 %). The group is then called spread: its peers are no reference, and
 * nobody is blamed by them.
 */
#pragma once

#include "lib/judge/reference.h"

struct judge_inputs;
struct report;

struct peer_group {
	size_t n;	/* members: subjects */
	size_t n_low;	/* members that are low against the others */
	size_t first;	/* index of one member's sample */
	double best;	/* best value */
	double typical; /* median of the low ones */
	bool spread;
	bool unresolved; /* spread, and a low member has no other reference; set by the judge */
};

/* A sample compared with its peers. */
struct peer_view {
	bool measured;	  /* measure_of() succeeded */
	struct measure m; /* with the policy's floor */
	bool compared;	  /* it is in a group; if false, the rest is not set */
	bool repeat;	  /* an earlier sample represents its subject */
	bool known;	  /* `e` can be used as a reference */
	bool low;	  /* low against the others, even in a spread group */
	size_t group;
	struct expectation e; /* n = 0: none; in a spread group it is not for judging */
};

struct peers {
	struct peer_view *views;   /* one per sample of the report */
	struct peer_group *groups; /* at most one per sample */
	size_t n_groups;
};

/* `inputs` provides the policy's floors; never NULL. */
void peers_build(const struct report *report, const struct judge_inputs *inputs, struct peers *ret);

/* measure_of(), with the policy's floor. */
bool peers_measure(const struct sample *s, const struct judge_inputs *inputs, struct measure *ret);

/* Standard deviation of this sample's value among the parts of good hosts; 0: not known. */
double peers_within(const struct report *report, const struct judge_inputs *inputs, size_t sample);

/* peers, own history, own usual ratio to its peers, fleet, SKU file */
enum { EXPECTATIONS_MAX = 5 };

/*
 * Everything that a sample is compared with: its peers, then its own history, then the fleet, then
 * the SKU file. Returns how many there are.
 */
size_t peers_expectations(const struct sample *s, const struct judge_inputs *inputs,
			  const struct peer_view *view,
			  struct expectation ret[static EXPECTATIONS_MAX]);

void peers_release(struct peers *p);
