/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must outlive a restart of each host: where it is in its life, what tests have shown of its
 * findings, and when its parts were cordoned for. All of it is written in the open transaction of
 * the store, and only what has changed. A host that is as a new one would be has no record.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/policy/fleet.h"

struct err;
struct node_record_kept;
struct store;

/* What the store has of each host, so that the same is not written twice. */
struct node_records {
	struct store *store;	       /* borrowed */
	struct node_record_kept *kept; /* in the order of their names */
	size_t n, room;
};

/* Forget what the store has; `store` stays. */
void node_records_release(struct node_records *records);

/* The name of the i-th host that the store has a record of; NULL: there are no more. Borrowed until
 * the next change. */
const char *node_records_at(const struct node_records *records, size_t i);

/*
 * Fill an empty fleet from the store: first the hosts that have reported, their SKUs, and the
 * cordons of parts; then, when the findings of these hosts are in the fleet, their records, as of
 * `now_us` (real time). A host beyond FLEET_NODES_MAX is left out. -EINVAL for a record that cannot
 * be read, after all others were.
 */
int node_records_load_hosts(struct node_records *records, struct fleet *fleet, uint64_t now_us,
			    struct err *err);
int node_records_load(struct node_records *records, struct fleet *fleet, uint64_t now_us,
		      struct err *err);

/*
 * Keep the record of the host as it is now. 1: something was written or dropped, and waits for the
 * commit; 0: the store has it already. When the store fails, it counts as written: begin anew from
 * what the store has.
 */
int node_records_keep(struct node_records *records, const struct fleet_node *node, struct err *err);
int node_records_keep_all(struct node_records *records, const struct fleet *fleet, struct err *err);

/* Nothing is kept of it any more. Returns as node_records_keep() does. */
int node_records_drop(struct node_records *records, const char *node, struct err *err);

/* Keep when the part was cordoned for. */
int node_records_keep_part(struct node_records *records, struct fleet *fleet, const char *serial,
			   struct err *err);
