/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reports bring: that a host is there, what is in it, and the answers of its tests. It counts
 * once it is durable; of a host that the cluster has not told of yet it is kept until then.
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

/* Zero it before its first use. */
struct reports {
	struct map reporters;	 /* of struct reporter */
	struct arrived *arrived; /* since the last commit */
	size_t n;
};

struct reports_arrival {
	uint64_t at_us;	   /* it counts as of then */
	unsigned replaced; /* machines seen so far under its name */
	bool fresh;	   /* it was measured just now */
	bool unverified;   /* its host is (store_joins.h) */
};

void reports_release(struct reports *reports);

/* The node is gone. */
void reports_drop(struct reports *reports, const char *node);

/* One was put into the store. */
void reports_add(struct reports *reports, const struct actor_env *env, const struct report *report,
		 const struct reports_arrival *arrival);

/* They are durable. */
void reports_take(struct reports *reports, const struct actor_env *env,
		  struct admissions *admissions);

/* The cluster has told of a host that reported before. */
void reports_take_early(struct reports *reports, const struct actor_env *env, const char *node);
