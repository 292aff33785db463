/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run is judged by besides the peers on this host: the policy's floors,
 * the SKU file (named, or found by the models of this host and pinned), this
 * host's own history, and what its last run of the same profile had.
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
	bool named_sku;		  /* by the operator: then nothing is pinned */
	struct sku_models models; /* of this host */
	char *changed;		  /* sentence: other hardware than was pinned; or NULL */
	struct history *history;  /* NULL when it cannot be read */
	struct verdict before;	  /* of the last run of this profile; empty when none */
	bool has_before;
	struct host_parts parts; /* what they are called in sentences */
};

/*
 * Read what people wrote: the policy (NULL: the installed one, or the built-in
 * when there is none) and the SKU file (NULL: the one for this host, or none).
 * "FILE: path.to.key: what" for a bad one.
 */
int references_read(const char *policy_path, const char *sku_path, struct references *ret,
		    struct err *err);

/* Read what this host kept of earlier runs; what cannot be read counts as none. */
void references_recall(struct references *r, const char *profile);

/* What the parts of this host are called, by this report and by those before; keeps it. */
void references_name(struct references *r, const struct report *report);

/* For verdict_judge(); borrows `r`. */
struct judge_inputs references_inputs(struct references *r);

/* Say in the report that the hardware is not what was pinned. */
void references_report(const struct references *r, struct report *report);

/* Learn from a judged run: history, and at the first pass the pin. */
int references_learn(struct references *r, const struct report *report,
		     const struct verdict *verdict, struct err *err);

void references_release(struct references *r);
