/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host's findings compared with its fleet: what half or more of a SKU's hosts have belongs to the
 * SKU, and is reported as one incident under "sku:NAME".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct anomalies;
struct baselines;
struct err;
struct fleet;
struct rules_view;
struct store;
struct store_window;
struct verdict;
struct verdict_item;

/* Returns "sku:NAME", the name that incidents of a SKU are stored under. New memory. */
char *findings_fleet_name(const char *sku);

/* The state for processing one run. */
struct findings_run {
	struct store *store;
	struct rules_view *rules;
	uint64_t at_us; /* time of measurement */
	bool fresh;
	struct store_window *rows; /* FINDINGS_MAX */
	size_t n_rows;
	unsigned char *marks; /* per item: enum findings_mark */
};

enum findings_mark {
	MARK_BAD = 1,	 /* a bad run of its subject */
	MARK_SPEAKS = 2, /* it is, or would be, the incident of its check */
};

/* --- one run --- */

/* Count the host as one of its fleet. */
void findings_count_host(const struct findings_run *note, const char *node);

/* Count one item for the fleet. */
void findings_count(const struct findings_run *note, const struct verdict *v,
		    const struct verdict_item *item, bool bad);

/* Does half of the fleet have it? After a restart, until enough hosts have reported, this is as
 * before. */
bool findings_shared(const struct findings_run *note, const char *check);

/* Has the policy reported it as one notice for many hosts? */
bool findings_noticed(const struct findings_run *note, const char *node, const char *check);

/* After the last item: update in which checks the host is low, and the incidents of the fleet. */
int findings_settle(struct findings_run *note, const struct verdict *v, struct err *err);

/* --- the fleet --- */

/*
 * Called after findings_note(): findings that a host shares with half of its fleet are not its own.
 * The store's verdict of the host over its profiles (`merged`) becomes that of the worst item of
 * its own, or, if there is none, a warning that names the fleet, in the same words for each host.
 */
int findings_restate(struct store *store, const struct rules_view *rules,
		     const struct verdict *merged, struct err *err);

/*
 * Called after policy_decide(): findings that belong to one of its notices get no incident of a
 * host, and open ones are closed, until they no longer belong to a notice.
 */
int findings_share(struct store *store, struct anomalies *anomalies, const struct fleet *fleet,
		   uint64_t now_us, struct err *err);

/* Called first: load the open incidents of fleets from the store. */
int findings_begin(struct store *store, struct baselines *baselines, struct err *err);
