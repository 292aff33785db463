/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the open incidents, over all checks and actions. */
#pragma once

#include "controller/store/store_metrics.h"
#include "lib/base/macro.h"

static inline void count_incidents_add(void *context, const char *check UNUSED,
				       const char *action UNUSED, uint64_t n)
{
	uint64_t *sum = context;

	*sum += n;
}

/* Returns the result of store_incidents_by_kind(). */
static inline int count_incidents(struct store *s, uint64_t *ret, struct err *err)
{
	*ret = 0;
	return store_incidents_by_kind(s, count_incidents_add, ret, err);
}
