/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each host and each of its parts usually reach relative to its control (lib/judge/trend.h),
 * within one baseline. A host that becomes suspect keeps its history, which shows the drop. While
 * the fleet itself moves, as during a roll-out to most of it or back, it cannot serve as control,
 * and hosts are not compared with it. Pure; kept across restarts by baseline_store.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/judge/reference.h"
#include "lib/judge/trend.h"
#include "lib/judge/verdict.h"

struct strbuf;

/* Parts remembered per host and key; further ones have no history. */
enum { SELF_BASELINE_PARTS_MAX = 64 };

/* Robust sigmas below the others at which a host as a whole is slow from the start: one in 3.5
 * million good ones, as every host is compared in each check (EROICA's k = 5). */
#define SELF_BASELINE_WHOLE_K 5.0

/*
 * A host is blamed for a drop of this many slacks (7.5 % for a slack of 5 %): halfway to a
 * straggler's 10 %, and more than a roll-out that reaches hosts one by one usually costs.
 */
#define SELF_BASELINE_WHOLE_SLACKS 1.5

/*
 * The same (6 %) once its last runs were low: a host that lost 10 % passes one run in five,
 * depending on what its rack has in common at that hour and on the fleet's daily swing. One good
 * run between two low ones is no cure; a host that was disturbed once returns to its usual value.
 */
#define SELF_BASELINE_STILL_SLACKS 1.2
/* Standard deviation of the mean of runs with the weights 1/2, 1/4, ..., relative to that of a
 * single run. */
#define SELF_BASELINE_STILL_SPREAD 0.577

struct self_baseline_part {
	uint32_t name;	    /* FNV-1a of its subject */
	struct trend trend; /* relative to the host's other parts or, if they are few, to the fleet */
};

/*
 * The two worst parts of a host as logarithms of their values, less is worse, averaged over its
 * runs.
 */
struct self_baseline_tail {
	double worst, second;
	unsigned runs;
	bool apart;
};

/*
 * Values below `apart` are outliers among the SKU's parts, and remain so until they reach `still`.
 * Logarithms, -INFINITY: none.
 */
struct self_baseline_end {
	double apart, still;
};

struct self_baseline {
	char *node;
	struct trend whole;
	/* Mean log deviation from `whole` of the last runs, halved with each run; not saved, nor is
	 * the tail. */
	double lately;
	struct self_baseline_tail tail; /* not saved: relearned in a few runs */
	struct self_baseline_part *parts;
	size_t n;
};

/* All hosts of one baseline. Initially zero. */
struct self_baselines {
	struct self_baseline *hosts; /* by name */
	size_t n, room;
	size_t last;   /* index of the last host looked up: lookups repeat */
	double drift;  /* log of the fleet's recent deviation from its usual value */
	double slow;   /* log of the fleet's level, averaged over TREND_MAX runs of all hosts */
	bool moved;    /* the fleet is far from `slow`, so it cannot be a control */
	double spread; /* standard deviation among good parts, relative; 0: unknown */
	double *tails; /* of all hosts, lowest first, as of `tails_news` runs ago */
	size_t n_tails, tails_news;
	/* The two hosts with the worst parts at that time; borrowed names, NULL: fewer. */
	struct self_baseline_worst {
		const char *node;
		double worst;
	} lowest[2];
	struct self_baseline_end end; /* computed from these tails */
	struct center levels;	      /* of the hosts' usual levels, as of `news` changes ago */
	size_t news;
	bool leveled;
	bool changed;	/* since it was last saved */
	bool forgotten; /* ... and a host must not come back from the saved state */
};

/* One of a run's values under one key. */
struct self_baseline_value {
	const char *subject;
	double value;
};

/* The host's run was good: learn all its values, ascending; `fleet` is their control. */
void self_baselines_learn(struct self_baselines *u, const char *node,
			  const struct self_baseline_value *values, size_t n, double fleet);

/* Note how any run of a host, good or bad, differs from its usual value; the common part is the
 * drift. */
void self_baselines_note(struct self_baselines *u, const char *node,
			 const struct self_baseline_value *values, size_t n, double fleet);

/* Spread of good parts within a host: one standard deviation, relative. */
void self_baselines_set_spread(struct self_baselines *u, double spread);

/* Note the two worst parts in one more run of a host. */
void self_baselines_tail(struct self_baselines *u, const char *node, double worst, double second);

/*
 * Compare the worst part of a host, averaged over its runs, with all parts of its SKU. Good silicon
 * has a long tail, so no fixed distance from the median marks a fault. A part is an outlier if the
 * next one is better by 5 %; or if it is one of a very few, each so far out that all of them may
 * well be bad; or if it is so far beyond the end of the tail that no good part is expected there,
 * however near others like it are.
 */
enum self_baseline_place {
	PLACE_UNKNOWN, /* too few hosts */
	PLACE_AMONG,   /* others are like it */
	PLACE_EARLY,   /* few runs so far: only a single part beyond `apart` is an outlier */
	PLACE_APART,
};
/* Logarithms, as in the tails; set only if it may be an outlier. */
struct self_baseline_limits {
	double apart; /* values below belong to the outlier */
	double next;  /* the second part of the host, or the worst of any other host */
};
enum self_baseline_place self_baselines_place(struct self_baselines *u, const char *node,
					      struct self_baseline_limits *ret);

/* Has this host REFERENCE_N_MIN runs, without an outlier among its parts? As of the last update of
 * the tails. */
bool self_baselines_among(const struct self_baselines *u, const char *node);

/* The part's ratios. Returns their number. */
size_t self_baselines_part(struct self_baselines *u, const char *node, const char *subject,
			   double ret_ratios[static TREND_MAX]);

/* Values that a part of a host with few parts would have now by each of its ratios. Returns their
 * number, 0 while the fleet moves. */
size_t self_baselines_own(struct self_baselines *u, const char *node, const char *subject,
			  double fleet, double ret_values[static TREND_MAX]);

/*
 * What the whole host is compared with, `m` being the center of its parts: its own usual value, and
 * the usual levels of the others. Returns how many of these are known.
 */
size_t self_baselines_whole(struct self_baselines *u, const char *node, const struct measure *m,
			    double fleet, struct expectation ret[static WHOLE_EXPECTATIONS]);

void self_baselines_forget(struct self_baselines *u, const char *node);

void self_baselines_release(struct self_baselines *u);
