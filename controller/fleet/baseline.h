/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fleet reaches: per (SKU, check, class, params, unit, better side)
 * one value of each host that nobody suspects, the median over its parts, and
 * how far its parts lie apart: a good part may differ from other hosts' medians
 * by as much as parts of one host differ from each other.
 * A host that is suspected is forgotten until it is good again, so that sick
 * ones do not become the rule; but not while half of the fleet is (anomalies.h), or
 * nothing were left to tell what it has been. Pure; kept through restarts by baseline_store.h.
 *
 * A host is never among its own references in a fleet of up to
 * BASELINE_EXACT_MAX; in a larger one its own value among the others does not
 * move their median, and a sorted copy serves until 5 % of the values are new.
 *
 * What one host alone names is bounded for each host, and a full table makes room (share.h):
 * of the baselines of a host that only it has, those go that it did not report for the longest.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/fleet/anomalies.h"
#include "controller/fleet/share.h"
#include "lib/base/macro.h"

struct expectation;
struct measure;
struct report;
struct sample;
struct self_baselines;
struct verdict;

enum {
	BASELINES_MAX = 20000,
	BASELINES_OWN_MAX = 512, /* of one host that no other has: a real one has some 100 */
	BASELINE_EXACT_MAX = 200,
	BASELINE_HOSTS_MAX = 1000000,
};

struct baseline;

struct baselines {
	void *tree; /* of struct baseline, by key */
	size_t n;
	uint64_t uses; /* counts up with each that is learnt */
	struct shares shares;
	struct baseline *dropped; /* whose rows of the store are to go: baseline_store.h */
	struct anomalies anomalies;
};

/* Learn from a report, or forget its host where it is not good; `suspect`: as findings_note() says. */
void baselines_learn(struct baselines *b, const struct report *report,
		     const struct verdict *verdict, bool suspect);

/* What was worked out for the sample before, of a report that stays: samples of one check come one
 * after the other. Zeroes: nothing yet. */
struct baseline_last {
	const char *check, *locality; /* borrowed from the report */
	double middle;
};

/*
 * What the other hosts of `sku` reach; false with fewer than REFERENCE_N_MIN of them. `last` is for
 * who asks about all samples of one report; NULL: for this one alone.
 */
bool baselines_expect(const struct baselines *b, const struct report *report, const struct sample *s,
		      const struct measure *m, struct baseline_last *last, struct expectation *ret);

/* How far the parts of the other hosts lie apart, a standard deviation; 0: too few hosts to tell. */
double baselines_within(const struct baselines *b, const struct report *report,
			const struct sample *s);

/*
 * What a part of a host that has few of its kind would reach now, by each of its last good runs
 * beside the fleet; how many, at most TREND_MAX.
 */
size_t baselines_own(const struct baselines *b, const struct report *report, const struct sample *s,
		     double *ret_values);

/* Ratios to its peers that a part had in its last good runs (trend.h); how many. */
size_t baselines_usual(const struct baselines *b, const struct report *report,
		       const struct sample *s, double *ret_ratios);

/* What a host is held against as a whole: judge_inputs.whole. */
size_t baselines_whole(const struct baselines *b, const struct report *report,
		       const struct sample *s, const struct measure *m, struct expectation *ret);

/* {"sku", "check", "class", "unit", "better", "params", "hosts", "median", "mad"} of each; new
 * reference. */
json_t *baselines_encode(const struct baselines *b);

/* --- saving: a baseline at a time --- */

/* What it is about. Borrowed; "" for none. */
struct baseline_about {
	const char *sku, *check, *locality, *unit;
	const char *params; /* canonical JSON */
	int better;
};

struct baseline_host {
	const char *node; /* borrowed */
	double value, spread;
};

/* Each baseline there is; it may not be dropped meanwhile. */
void baselines_visit(const struct baselines *b,
		     void (*visit)(struct baseline *baseline, void *context), void *context);

struct baseline_about baseline_about(const struct baseline *baseline);

/*
 * The median of its hosts, `ret_hosts` of them; NAN without any. Of more than BASELINE_EXACT_MAX it
 * is that of up to 5 % of changes ago; and without `work`, which takes a millisecond, what was
 * worked out last, or NAN.
 */
double baseline_median(struct baseline *baseline, bool work, size_t *ret_hosts);

/* Host number `at`, by name; false at the end. */
bool baseline_host(const struct baseline *baseline, size_t at, struct baseline_host *ret);

/* When it was last saved (0: never), and whether it has changed since. */
uint64_t baseline_saved_us(const struct baseline *baseline);
bool baseline_changed(const struct baseline *baseline);
void baseline_set_saved(struct baseline *baseline, uint64_t saved_us);
void baseline_set_changed(struct baseline *baseline);

/* What its hosts usually reach (self_baseline.h). */
struct self_baselines *baseline_usuals(struct baseline *baseline);

/* The baseline about that, new or the one there is. */
struct baseline *baselines_need(struct baselines *b, const struct baseline_about *about);

/* One host of it, as it was saved. */
void baseline_put(struct baseline *baseline, const struct baseline_host *host);

/* A list has it, or has it no more: until then it is not freed. */
void baseline_set_listed(struct baseline *baseline, bool listed);

/* Was it dropped meanwhile? */
bool baseline_gone(const struct baseline *baseline);

/* The next of those dropped; its caller frees. */
struct baseline *baseline_next_dropped(const struct baseline *baseline);
void baseline_set_next_dropped(struct baseline *baseline, struct baseline *next);
void baseline_free(struct baseline *baseline);

/* Nothing is known of this host any more. */
void baselines_forget(struct baselines *b, const char *node);

void baselines_release(struct baselines *b);

/* --- which there is room for (share.h), for who reads them back --- */

/*
 * All hosts of it are there: count it among those of its only host, which may drop that
 * host's oldest, or drop it when it has none.
 */
void baselines_settle(struct baselines *b, struct baseline *baseline);

/* Those that have no host, and only remember none. */
void baselines_drop_empty(struct baselines *b);

/* Take it out. While a list has it, or the store a row, its name stays, in `b->dropped`. */
void baselines_drop(struct baselines *b, struct baseline *baseline);
