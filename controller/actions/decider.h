/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fleet as the policy sees it, and its decisions as actions: those with an effect begin, those
 * that are refused are recorded once, in the mode dry-run all are tried. What decides is pure
 * (lib/policy/decide.h).
 */
#pragma once

#include <stdint.h>

#include "controller/actions/admissions.h"
#include "lib/base/macro.h"
#include "lib/policy/decide.h"

struct actor_counts;
struct actor_env;

/* Zero it before its first use. Times are monotonic. */
struct decider {
	struct admissions admissions;
	struct outcome outcome;
	uint64_t decided_us; /* the last time */
	uint64_t again_us;   /* more may be decided then; 0: nothing waits */
	uint64_t stale_us;   /* since then the nodes are not known for sure; actor.c says so */
	uint64_t shared_us;  /* the last look at what hosts share */
	bool shared_due;     /* a decision was made since, without that look */
	uint64_t left_us;    /* look then at what was left open; 0: not set, UINT64_MAX: done */
	bool stopped;	     /* the log says so */
};

/* Decide, if there is anything new, or it was long ago. */
void decider_run(struct decider *d, const struct actor_env *env);

/* What the budgets hold and what of them is used, as of now, into `ret`: O(hosts). */
void decider_count_budgets(const struct actor_env *env, struct actor_counts *ret);

/* Forget what was decided; when, and what stands as an incident, is remembered. */
void decider_release(struct decider *d, const struct actor_env *env);
