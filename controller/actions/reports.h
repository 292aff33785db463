/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reports tell the actor: that a host exists, its parts, and the results of its tests. A
 * report counts once it is durable; one for a host that the cluster has not listed yet is kept
 * until then.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/base/map.h"

struct actor_env;
struct admissions;
struct arrived;
struct report;

/* Zero it before first use. */
struct reports {
	struct map reporters;	 /* struct reporter */
	struct arrived *arrived; /* since the last commit */
	size_t n;
};

struct reports_arrival {
	uint64_t at_us;	   /* the time as of which it counts */
	unsigned replaced; /* machines seen so far under its name */
	bool fresh;	   /* just measured */
	bool unverified;   /* its host is unverified (store_joins.h) */
};

void reports_release(struct reports *reports);

/* The node is gone. */
void reports_drop(struct reports *reports, const char *node);

/* A report was stored. */
void reports_add(struct reports *reports, const struct actor_env *env, const struct report *report,
		 const struct reports_arrival *arrival);

/* The reports are durable. */
void reports_take(struct reports *reports, const struct actor_env *env,
		  struct admissions *admissions);

/* The cluster has listed a host that reported before. */
void reports_take_early(struct reports *reports, const struct actor_env *env, const char *node);
