/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings and jobs that hosts have in common, by kind: NOTICE_SETTING or NOTICE_JOB, and numbers
 * of fleet.settings or fleet.jobs. Part of decide_shared(). Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct deciding;
struct finding;
struct fleet_node;

/*
 * Has it? Of a job also a host that has left it: with what it was found bad in while it ran there,
 * or, `finding` NULL, lately.
 */
bool decide_traits_has(const struct fleet_node *node, const struct finding *finding, int kind,
		       int trait);

/* One more in `counts_of` for each that it has so. */
void decide_traits_count(const struct fleet_node *node, const struct finding *finding, int kind,
			 size_t *counts_of);

/*
 * Note of each candidate what that was told by the last decision explains it: it is evidence for
 * no other cause, until the notice ends.
 */
void decide_traits_explain(struct deciding *d);

/*
 * Tell which setting or job explains what many hosts of a SKU have, and mark candidates that may
 * yet be a job's. They are in order of their SKUs; `wide` marks domains that are bad as a whole.
 */
void decide_traits_judge(struct deciding *d, const bool *wide);
