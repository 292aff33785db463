/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reports are held against from files: the policy, and the SKU files of
 * $POLICY/sku by the name that a report gives.
 */
#pragma once

#include <jansson.h>

#include "controller/fleet/baseline.h"
#include "lib/judge/sku.h"
#include "lib/judge/verdict.h"
#include "lib/policy/policy.h"

struct err;
struct host_parts;
struct report;

enum { RULES_SKUS_MAX = 256 };

enum { POLICY_VERSION_SIZE = 13 };

struct rules {
	struct policy policy;
	json_t *document; /* the policy as it was read, or NULL without a file */
	/* The first digits of the SHA-256 of what the policy file says; "built-in" without one. */
	char version[POLICY_VERSION_SIZE];
	struct sku *skus;
	size_t n_skus;
};

/*
 * Read the policy at `policy_path` (NULL: $POLICY/default.yaml, which may be
 * absent) and the SKU files. -EINVAL with the place in the file.
 */
int rules_read(const char *policy_path, struct rules *ret, struct err *err);
void rules_release(struct rules *r);

/* The rules as one report sees them. */
struct rules_view {
	const struct rules *rules;
	const struct sku *sku; /* or NULL when no file has its name */
	const char *sku_name;  /* or NULL */
	const struct report *report;
	struct baselines *baselines;
	/* What they are called, as of struct judge_inputs; NULL: nobody knows. */
	const struct host_parts *(*parts)(void *context);
	void *parts_context;
	/* Its host is unverified: what it measured counts for nothing among the hosts of its SKU. */
	bool apart;
	/* What the policy said last: samples of one check come one after the other. */
	struct {
		const char *check, *locality; /* of the report; NULL: nothing yet */
		const struct policy_rule *rule;
	} last;
	struct baseline_last last_of_fleet;
};

struct rules_view rules_view(const struct rules *r, const struct report *report,
			     struct baselines *baselines);

/* For verdict_judge(); borrows `view`. */
struct judge_inputs rules_inputs(struct rules_view *view);
