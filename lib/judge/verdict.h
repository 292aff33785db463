/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge of one host: from a report and whatever references there are to a
 * verdict per (check, subject), with the numbers and one sentence each. Pure:
 * no I/O, no clock, no globals; the node and the controller link the same.
 *
 * Rules (DESIGN.md section 6, reference numbers beside the constants in
 * reference.c):
 *  - what was not measured (busy, set-up, timeout, ...) is inconclusive;
 *  - ok=false is fail (warn when its severity says so); fatal marks `fatal`;
 *  - a value is compared with samples of the same (check, class, params, unit)
 *    on this host (peers), with the SKU file, with the host's own history:
 *    two that agree, or one far below, make a fail; one alone is a warn;
 *  - fewer than 5 peers give no statistics: a floor of 15 % against the best,
 *    and at most warn unless history or the SKU file agree;
 *  - a problem is an inconclusive item, except not-applicable;
 *  - host verdict = the worst item; no item at all = inconclusive.
 */
#pragma once

#include <stdint.h>

#include "lib/json.h"
#include "lib/macro.h"

struct err;
struct report;

/* In order of weight: a larger one wins. */
enum verdict_level { VERDICT_PASS, VERDICT_INCONCLUSIVE, VERDICT_WARN, VERDICT_FAIL };
extern const char *const verdict_level_names[]; /* "pass", "inconclusive", "warn", "fail" */

enum verdict_source { SOURCE_FLEET, SOURCE_SKU, SOURCE_HISTORY, SOURCE_PEERS, SOURCE_SELF };
extern const char *const verdict_source_names[]; /* "fleet" ... "self-evident" */

struct verdict_item {
	char *check, *subject;
	int level;    /* enum verdict_level */
	double value; /* NAN when none */
	char *unit;
	double expected; /* NAN when nothing to compare with */
	double floor;	 /* the effective one: what the value is held against; NAN likewise */
	int source;	 /* enum verdict_source */
	uint64_t n;	 /* values behind `expected` */
	bool fatal;	 /* a signature that is bad by itself */
	char *sentence;	 /* for people, names the subject and the numbers */
	/* kept for the merge in verdict.json */
	char *profile; /* of the run that brought it */
	char *time;    /* RFC 3339, of that run */
};

struct verdict {
	char *node;
	char *time; /* of the newest active run, else of this one */
	uint64_t seq;
	char *profile;
	int level;
	char *sentence;		    /* the one that names the culprit */
	json_t *fleet;		    /* the controller's opinion, or NULL */
	struct verdict_item *items; /* worst first */
	size_t n_items;
};

/* What a value is held against, from outside the report. All may be absent. */
struct judge_inputs {
	/*
	 * Expected value and floor of (check, class, subject) by the SKU file;
	 * returns false when it says nothing. `n` is then 1.
	 */
	bool (*sku)(void *context, const char *check, const char *locality, const char *subject,
		    double *ret_expected, double *ret_floor);
	void *sku_context;
	/*
	 * Own earlier values of (check, subject, params digest), newest last;
	 * returns how many were written, at most `max`.
	 */
	size_t (*history)(void *context, const char *check, const char *subject, const char *params,
			  double *ret_values, size_t max);
	void *history_context;
};

/* Judge a report. Cannot fail. `inputs` may be NULL. */
void verdict_judge(const struct report *report, const struct judge_inputs *inputs,
		   struct verdict *ret);

void verdict_release(struct verdict *v);
json_t *verdict_encode(const struct verdict *v);
int verdict_decode(const struct jval *v, struct verdict *ret, struct err *err);
