/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The references that a run is judged by, besides its peers on this host: the policy's floors,
 * the SKU file (named, or found by this host's models and pinned), this host's history, and its
 * last run of the same profile.
 */
#pragma once

#include "agents/run/history.h"
#include "lib/base/macro.h"
#include "lib/judge/sku.h"
#include "lib/judge/verdict.h"
#include "lib/policy/policy.h"
#include "lib/report/host_parts.h"
#include "lib/report/report.h"

struct err;

struct references {
	struct policy policy;
	struct sku sku;
	bool has_sku;
	bool named_sku;		  /* by the operator: no pin is written */
	struct sku_models models; /* of this host */
	char *changed;		  /* sentence: the hardware differs from the pin; or NULL */
	struct history *history;  /* NULL when it cannot be read */
	struct verdict before;	  /* last run of this profile; empty if none */
	bool has_before;
	struct host_parts parts; /* their names in messages */
};

/*
 * Read the files that people write: the policy (NULL: the installed one, or the built-in one if
 * there is none) and the SKU file (NULL: the one for this host, or none). The error of a bad one
 * is "FILE: path.to.key: what".
 */
int references_read(const char *policy_path, const char *sku_path, struct references *ret,
		    struct err *err);

/* Read what this host kept of earlier runs; unreadable files count as absent. */
void references_recall(struct references *r, const char *profile);

/*
 * Learn the names of this host's parts from the report, in addition to the known ones, and save
 * them.
 */
void references_name(struct references *r, const struct report *report);

/* For verdict_judge(); borrows `r`. */
struct judge_inputs references_inputs(struct references *r);

/* Note in the report that the hardware differs from the pin. */
void references_report(const struct references *r, struct report *report);

/* Learn from a judged run: its values and, at the first pass, the SKU to pin. */
int references_learn(struct references *r, const struct report *report,
		     const struct verdict *verdict, struct err *err);

void references_release(struct references *r);
