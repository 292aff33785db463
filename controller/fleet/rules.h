/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules for judging reports that come from files: the policy, and the SKU files in $POLICY/sku,
 * found by the SKU name in a report.
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
	json_t *document; /* the policy as read, or NULL without a file */
	/* First digits of the SHA-256 of the policy's content; "built-in" without a file. */
	char version[POLICY_VERSION_SIZE];
	struct sku *skus;
	size_t n_skus;
};

/*
 * Read the policy at `policy_path` (NULL: $POLICY/default.yaml, which need not exist) and the SKU
 * files. Returns -EINVAL with the place in the file.
 */
int rules_read(const char *policy_path, struct rules *ret, struct err *err);
void rules_release(struct rules *r);

/* The rules as applied to one report. */
struct rules_view {
	const struct rules *rules;
	const struct sku *sku; /* NULL if no file has its name */
	const char *sku_name;  /* or NULL */
	const struct report *report;
	struct baselines *baselines;
	/* Names of the host's parts, as in struct judge_inputs; NULL: unknown. */
	const struct host_parts *(*parts)(void *context);
	void *parts_context;
	/* The host is unverified: its measurements do not count for its SKU. */
	bool apart;
	/* Cached rule for the previous sample: samples of one check are adjacent. */
	struct {
		const char *check, *locality; /* from the report; NULL: nothing yet */
		const struct policy_rule *rule;
	} last;
	struct baseline_last last_of_fleet;
};

struct rules_view rules_view(const struct rules *r, const struct report *report,
			     struct baselines *baselines);

/* For verdict_judge(); borrows `view`. */
struct judge_inputs rules_inputs(struct rules_view *view);
