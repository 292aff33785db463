/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host's findings are among those of its fleet: what half or more of a SKU's hosts have is
 * the SKU's, and one incident under "sku:NAME" says so.
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

/* What the incidents of a SKU stand under: "sku:NAME". New memory. */
char *findings_fleet_name(const char *sku);

/* What one run is noted in: what is known before it, and what becomes of that. */
struct findings_run {
	struct store *store;
	struct rules_view *rules;
	uint64_t at_us; /* when it was measured */
	bool fresh;
	struct store_window *rows; /* FINDINGS_MAX */
	size_t n_rows;
	unsigned char *marks; /* of each item: enum findings_mark */
};

enum findings_mark {
	MARK_BAD = 1,	 /* a bad run of its subject */
	MARK_SPEAKS = 2, /* it is, or would be, the incident of its check */
};

/* --- of one run --- */

/* The host counts among those of its fleet. */
void findings_count_host(const struct findings_run *note, const char *node);

/* One item among those of the fleet. */
void findings_count(const struct findings_run *note, const struct verdict *v,
		    const struct verdict_item *item, bool bad);

/* Has half of the fleet it? So it was before a restart, until enough have reported again. */
bool findings_shared(const struct findings_run *note, const char *check);

/* Has the policy told it as one thing of many hosts? */
bool findings_noticed(const struct findings_run *note, const char *node, const char *check);

/* After the last item: where is the host low now, and is the whole fleet? */
int findings_settle(struct findings_run *note, const struct verdict *v, struct err *err);

/* --- of the fleet --- */

/*
 * After findings_note(): what a host has with half of its fleet is not its own. The store's
 * verdict of the host over its profiles (`merged`) becomes that of the worst item that is,
 * or a warn that names the fleet, in the same words for each of its hosts.
 */
int findings_restate(struct store *store, const struct rules_view *rules,
		     const struct verdict *merged, struct err *err);

/*
 * After policy_decide(): what belongs to one of its notices is no incident of a host any more, and
 * becomes none until it belongs to none again.
 */
int findings_share(struct store *store, struct anomalies *anomalies, const struct fleet *fleet,
		   uint64_t now_us, struct err *err);

/* Before the first: what the store says is already told of fleets. */
int findings_begin(struct store *store, struct baselines *baselines, struct err *err);
