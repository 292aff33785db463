/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of each host that must survive a restart: its life state, the test results of its
 * findings, and when its parts were cordoned for. Written in the store's open transaction, and only
 * if changed. A host in the state of a new one has no record.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/policy/fleet.h"

struct err;
struct node_record_kept;
struct store;

/* The stored text for each host, to avoid writing it again unchanged. */
struct node_records {
	struct store *store;	       /* borrowed */
	struct node_record_kept *kept; /* sorted by name */
	size_t n, room;
};

/* Forget the stored texts; `store` stays. */
void node_records_release(struct node_records *records);

/* Name of the i-th host with a stored record; NULL at the end. Borrowed until the next change. */
const char *node_records_at(const struct node_records *records, size_t i);

/*
 * Fill an empty fleet from the store: first the hosts that have reported, their SKUs, and the
 * cordons of parts; then, once the findings of these hosts are in the fleet, their records, as of
 * `now_us` (real time). Hosts beyond FLEET_NODES_MAX are left out. Returns -EINVAL if a record
 * cannot be read, after reading all others.
 */
int node_records_load_hosts(struct node_records *records, struct fleet *fleet, uint64_t now_us,
			    struct err *err);
int node_records_load(struct node_records *records, struct fleet *fleet, uint64_t now_us,
		      struct err *err);

/*
 * Write the current record of the host. Returns 1 if something was written or deleted and waits for
 * the commit, 0 if the store is up to date. If the store fails, the record counts as written: the
 * caller starts over from the store.
 */
int node_records_keep(struct node_records *records, const struct fleet_node *node, struct err *err);
int node_records_keep_all(struct node_records *records, const struct fleet *fleet, struct err *err);

/* Delete its record. Returns as node_records_keep(). */
int node_records_drop(struct node_records *records, const char *node, struct err *err);

/* Write when the part was cordoned for. */
int node_records_keep_part(struct node_records *records, struct fleet *fleet, const char *serial,
			   struct err *err);
