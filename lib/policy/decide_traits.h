/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings and jobs that hosts have in common, by kind: NOTICE_SETTING or NOTICE_JOB, and numbers
 * in fleet.settings or fleet.jobs. Part of decide_shared(). Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct deciding;
struct finding;
struct fleet_node;

/*
 * True if the node has it. For a job also if it has left the node: when it ran there while
 * `finding` was bad, or, if `finding` is NULL, recently.
 */
bool decide_traits_has(const struct fleet_node *node, const struct finding *finding, int kind,
		       int trait);

/* Adds one to `counts_of` for each that the node has, by the same rule. */
void decide_traits_count(const struct fleet_node *node, const struct finding *finding, int kind,
			 size_t *counts_of);

/*
 * Marks candidates that a standing notice of a setting or job explains: until it ends they are no
 * evidence for another cause.
 */
void decide_traits_explain(struct deciding *d);

/*
 * Reports which setting or job explains what many hosts of a SKU have, and marks candidates that
 * may yet be due to a job. Candidates are sorted by SKU; `wide` marks domains that are bad as a
 * whole.
 */
void decide_traits_judge(struct deciding *d, const bool *wide);
