/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run is judged by, besides the peers on this host: the policy and SKU
 * files that people name.
 */
#pragma once

#include "lib/judge/policy.h"
#include "lib/judge/sku.h"
#include "lib/judge/verdict.h"
#include "lib/macro.h"

struct err;

struct references {
	struct policy policy; /* the built-in one without a file */
	struct sku sku;
	bool has_sku;
};

/* Read both files; either path may be NULL. "FILE: path.to.key: what". */
int references_read(const char *policy_path, const char *sku_path, struct references *ret,
		    struct err *err);
void references_release(struct references *r);

/* For verdict_judge(); borrows `r`. */
struct judge_inputs references_inputs(struct references *r);
