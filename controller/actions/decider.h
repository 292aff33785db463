/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds the fleet to the policy and turns its decisions into actions: those with an effect begin,
 * refused ones are recorded once, and in dry-run mode all are tried. The deciding itself is pure
 * (lib/policy/decide.h).
 */
#pragma once

#include <stdint.h>

#include "controller/actions/admissions.h"
#include "lib/base/macro.h"
#include "lib/policy/decide.h"

struct actor_counts;
struct actor_env;

/* Zero it before first use. Times are monotonic. */
struct decider {
	struct admissions admissions;
	struct outcome outcome;
	uint64_t decided_us; /* the last decision */
	uint64_t again_us;   /* more may be due then; 0: nothing waits */
	uint64_t stale_us; /* start of the period without a reliable view of the nodes; set by actor.c */
	uint64_t shared_us; /* the last check for findings shared between hosts */
	bool shared_due;    /* decided since without that check */
	uint64_t left_us;   /* when to check incidents left open; 0: not set, UINT64_MAX: done */
	bool stopped;	    /* logged already */
};

/* Decide if there is something new or the last decision is old. */
void decider_run(struct decider *d, const struct actor_env *env);

/* Write size and current use of the budgets into `ret`: O(hosts). */
void decider_count_budgets(const struct actor_env *env, struct actor_counts *ret);

/* Forget decisions; their time, and which incidents are open, are kept. */
void decider_release(struct decider *d, const struct actor_env *env);
