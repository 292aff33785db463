/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fleet reaches: per (SKU, check, class, params, unit, better side) one value for each
 * host that is not suspect, the median over its parts, and the spread of its parts: a good part may
 * differ from the medians of other hosts by as much as parts of one host differ from each other. A
 * host that becomes suspect is removed until it is good again, so that bad hosts do not become the
 * norm; but not while half of the fleet is suspect (anomalies.h), or no reference would be left.
 * Pure; kept across restarts by baseline_store.h.
 *
 * A host is never among its own references in a fleet of up to BASELINE_EXACT_MAX; in a larger one
 * its own value does not move the median, and a sorted copy is used until 5 % of the values are
 * new.
 *
 * The number of baselines with a single host is limited per host, and a full table makes room
 * (share.h): of the host's own baselines, those it has not reported for the longest are dropped.
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
	BASELINES_OWN_MAX = 512, /* with a single host, per host: a real one has some 100 */
	BASELINE_EXACT_MAX = 200,
	BASELINE_HOSTS_MAX = 1000000,
};

struct baseline;

struct baselines {
	void *tree; /* struct baseline, by key */
	size_t n;
	uint64_t uses; /* incremented with each value learned */
	struct shares shares;
	struct baseline *dropped; /* with rows in the store to delete: baseline_store.h */
	struct anomalies anomalies;
};

/* Learn from a report, or remove its host where it is bad; `suspect`: result of findings_note(). */
void baselines_learn(struct baselines *b, const struct report *report,
		     const struct verdict *verdict, bool suspect);

/* Cached result for the previous sample of a report that stays: samples of one check are adjacent.
 * Initially zero. */
struct baseline_last {
	const char *check, *locality; /* borrowed from the report */
	double middle;
};

/*
 * What the other hosts of `sku` reach. Returns false with fewer than REFERENCE_N_MIN of them.
 * `last` serves a caller that asks for all samples of one report; NULL for a single one.
 */
bool baselines_expect(const struct baselines *b, const struct report *report, const struct sample *s,
		      const struct measure *m, struct baseline_last *last, struct expectation *ret);

/* Spread of the parts of the other hosts, a standard deviation; 0: too few hosts. */
double baselines_within(const struct baselines *b, const struct report *report,
			const struct sample *s);

/*
 * Values that a part of a host with few parts would have now by each of its last good runs relative
 * to the fleet. Returns their number, at most TREND_MAX.
 */
size_t baselines_own(const struct baselines *b, const struct report *report, const struct sample *s,
		     double *ret_values);

/* Ratios of a part to its peers in its last good runs (trend.h). Returns their number. */
size_t baselines_usual(const struct baselines *b, const struct report *report,
		       const struct sample *s, double *ret_ratios);

/* What the host as a whole is compared with: judge_inputs.whole. */
size_t baselines_whole(const struct baselines *b, const struct report *report,
		       const struct sample *s, const struct measure *m, struct expectation *ret);

/* {"sku", "check", "class", "unit", "better", "params", "hosts", "median", "mad"} of each. New
 * reference. */
json_t *baselines_encode(const struct baselines *b);

/* --- saving: one baseline at a time --- */

/* Its key. Borrowed; "" for none. */
struct baseline_about {
	const char *sku, *check, *locality, *unit;
	const char *params; /* canonical JSON */
	int better;
};

struct baseline_host {
	const char *node; /* borrowed */
	double value, spread;
};

/* Visit every baseline. `visit` must not drop any. */
void baselines_visit(const struct baselines *b,
		     void (*visit)(struct baseline *baseline, void *context), void *context);

struct baseline_about baseline_about(const struct baseline *baseline);

/*
 * The median of its `ret_hosts` hosts; NAN without any. With more than BASELINE_EXACT_MAX hosts it
 * may be up to 5 % of changes old. Without `work`, which takes a millisecond, it is the last one
 * computed, or NAN.
 */
double baseline_median(struct baseline *baseline, bool work, size_t *ret_hosts);

/* The host at index `at`, by name. Returns false past the end. */
bool baseline_host(const struct baseline *baseline, size_t at, struct baseline_host *ret);

/* When it was last saved (0: never), and whether it has changed since. */
uint64_t baseline_saved_us(const struct baseline *baseline);
bool baseline_changed(const struct baseline *baseline);
void baseline_set_saved(struct baseline *baseline, uint64_t saved_us);
void baseline_set_changed(struct baseline *baseline);

/* What its hosts usually reach (self_baseline.h). */
struct self_baselines *baseline_usuals(struct baseline *baseline);

/* Find or create the baseline with that key. */
struct baseline *baselines_need(struct baselines *b, const struct baseline_about *about);

/* Restore one saved host. */
void baseline_put(struct baseline *baseline, const struct baseline_host *host);

/* It was put into a list or removed from one; it is not freed while in a list. */
void baseline_set_listed(struct baseline *baseline, bool listed);

/* Has it been dropped meanwhile? */
bool baseline_gone(const struct baseline *baseline);

/* The next dropped baseline, for the caller to free. */
struct baseline *baseline_next_dropped(const struct baseline *baseline);
void baseline_set_next_dropped(struct baseline *baseline, struct baseline *next);
void baseline_free(struct baseline *baseline);

/* Forget everything about the host. */
void baselines_forget(struct baselines *b, const char *node);

void baselines_release(struct baselines *b);

/* --- room in the table (share.h), for restoring --- */

/*
 * All its hosts are restored: count it for its only host, which may drop that host's oldest
 * baseline, or drop it if it has none.
 */
void baselines_settle(struct baselines *b, struct baseline *baseline);

/* Drop baselines that have neither hosts nor remembered ones. */
void baselines_drop_empty(struct baselines *b);

/* Remove it from the table. While it is in a list or has a row in the store, its key stays in
 * `b->dropped`. */
void baselines_drop(struct baselines *b, struct baseline *baseline);
