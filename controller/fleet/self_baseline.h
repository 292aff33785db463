/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each host, and each of its parts, usually reaches beside its control
 * (lib/judge/trend.h), under the key of a baseline. A host that becomes suspect keeps
 * what it was: only then its drop is seen. While the fleet itself moves, by a roll-out to most of
 * it or back, it is no control: hosts are then not held against it. Pure; kept through restarts by
 * baseline_store.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/judge/reference.h"
#include "lib/judge/trend.h"
#include "lib/judge/verdict.h"

struct strbuf;

/* Parts of one host under one key that are remembered; the others have no history here. */
enum { SELF_BASELINE_PARTS_MAX = 64 };

/* Robust sigmas that a host as a whole is below the others when it is born slow: one in
 * 3.5 million good ones, as every host is held against it in each check (EROICA's k = 5). */
#define SELF_BASELINE_WHOLE_K 5.0

/*
 * A host is blamed for a drop of so many slacks (7.5 % where that is 5 %): halfway to a straggler's
 * 10 %, and beyond what a roll-out that reaches hosts one by one usually costs them.
 */
#define SELF_BASELINE_WHOLE_SLACKS 1.5

/*
 * So many (6 %) once its last runs were low: a host that lost 10 % passes one run in five, for what
 * its rack has in common that hour and where the fleet stands at that time of the day. One good run
 * between two low ones is no cure; a host that was disturbed once is back at its usual.
 */
#define SELF_BASELINE_STILL_SLACKS 1.2
/* What the mean of runs with the weights 1/2, 1/4, ... spreads by, as a part of what one does. */
#define SELF_BASELINE_STILL_SPREAD 0.577

struct self_baseline_part {
	uint32_t name;	    /* FNV-1a of its subject */
	struct trend trend; /* beside the other parts of its host; where those are few, the fleet */
};

/*
 * The two worst parts of a host as logarithms of their values, less is worse: followed over its
 * runs.
 */
struct self_baseline_tail {
	double worst, second;
	unsigned runs;
	bool apart;
};

/*
 * What is below it is apart from the good parts of the SKU, and stays so until it is not below
 * `still`; logarithms, -INFINITY: nothing is.
 */
struct self_baseline_end {
	double apart, still;
};

struct self_baseline {
	char *node;
	struct trend whole;
	/* Log of what its runs lately differ from that, halved with each; not saved, as the tail. */
	double lately;
	struct self_baseline_tail tail; /* not saved: some runs teach it again */
	struct self_baseline_part *parts;
	size_t n;
};

/* Of all hosts under one key. Zeroes are none. */
struct self_baselines {
	struct self_baseline *hosts; /* by name */
	size_t n, room;
	size_t last;  /* where the host was that was asked for last: it comes many times in a row */
	double drift; /* log of what the whole fleet differs from its usual, lately */
	double slow;  /* log of what the fleet reaches, followed over TREND_MAX runs of all */
	bool moved;   /* the fleet is far from that: it is no control for its hosts */
	double spread; /* standard deviation among good parts, a part of 1; 0: not known */
	double *tails; /* of all hosts, the lowest first, as they were `tails_news` runs ago */
	size_t n_tails, tails_news;
	/* The two hosts with the worst parts as of then; borrowed names, NULL: fewer. */
	struct self_baseline_worst {
		const char *node;
		double worst;
	} lowest[2];
	struct self_baseline_end end; /* of these tails */
	struct center levels;	      /* of the hosts' usual levels, as it was `news` changes ago */
	size_t news;
	bool leveled;
	bool changed;	/* since it was saved */
	bool forgotten; /* ... and a host is not to come back with what it was */
};

/* One value of a run, of those under one key. */
struct self_baseline_value {
	const char *subject;
	double value;
};

/* The run of a host was good: learn from all its values, ascending; `fleet` is their control. */
void self_baselines_learn(struct self_baselines *u, const char *node,
			  const struct self_baseline_value *values, size_t n, double fleet);

/* Note how a good or bad run of a host differs from its usual: what all have in common drifts. */
void self_baselines_note(struct self_baselines *u, const char *node,
			 const struct self_baseline_value *values, size_t n, double fleet);

/* How far good parts of a host lie apart: one standard deviation, a part of 1. */
void self_baselines_set_spread(struct self_baselines *u, double spread);

/* One more run of a host: its two worst parts. */
void self_baselines_tail(struct self_baselines *u, const char *node, double worst, double second);

/*
 * Where the worst part of a host stands among all parts of its SKU, by the mean of its runs. Good
 * silicon has a long tail, and nobody can tell where a distance from the median begins to be a
 * fault. A part is apart when the next is better by 5 %, or very few together are, of which each
 * is so far out that all of them may well be sick; or when it is so far beyond where the tail ends
 * that no good part is to be expected there, however near others like it are.
 */
enum self_baseline_place {
	PLACE_UNKNOWN, /* too few hosts */
	PLACE_AMONG,   /* there are others like it */
	PLACE_EARLY,   /* too few runs of it: only what is beyond `apart` by itself is apart */
	PLACE_APART,
};
/* Logarithms, as in the tails; not set unless it may be apart. */
struct self_baseline_limits {
	double apart; /* values below are its */
	double next;  /* the second part of the host, or the worst of any other */
};
enum self_baseline_place self_baselines_place(struct self_baselines *u, const char *node,
					      struct self_baseline_limits *ret);

/* Has this host REFERENCE_N_MIN runs, and no part in them that is apart? As the tails were last
 * gathered. */
bool self_baselines_among(const struct self_baselines *u, const char *node);

/* Ratios that the part had; how many. */
size_t self_baselines_part(struct self_baselines *u, const char *node, const char *subject,
			   double ret_ratios[static TREND_MAX]);

/* What a part of few would reach now, by each of those; how many. None while the fleet moves. */
size_t self_baselines_own(struct self_baselines *u, const char *node, const char *subject,
			  double fleet, double ret_values[static TREND_MAX]);

/*
 * What the whole host is held against, `m` being the center of its parts: its own usual, and
 * the usual levels of the others. Returns how many are known.
 */
size_t self_baselines_whole(struct self_baselines *u, const char *node, const struct measure *m,
			    double fleet, struct expectation ret[static WHOLE_EXPECTATIONS]);

void self_baselines_forget(struct self_baselines *u, const char *node);

void self_baselines_release(struct self_baselines *u);
