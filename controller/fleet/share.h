/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table that any host adds entries to, under names of its own choosing: checks, params, SKUs. An
 * entry that only one host has counts against that host's share: beyond it, the host's own oldest
 * entries are evicted. So a host that invents or varies names only takes room from itself. If the
 * whole table is full, the entries with the fewest hosts go first; of those with one host, the ones
 * of the host with most of them; then the oldest. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lib/base/macro.h"

struct share_host;

/* Embedded in an entry of the table; zero: no host has it alone. */
struct share_entry {
	TAILQ_ENTRY(share_entry) link;
	struct share_host *host;
	void *entry; /* the containing entry */
};

/* Initially zero. */
struct shares {
	void *tree;    /* struct share_host, by name */
	char *crowded; /* a host that has used up its share, to be logged once; owned, NULL: none */
	uint64_t dropped; /* entries evicted */
	uint64_t filled;  /* how often the whole table was full */
};

/* Only `node` has the entry, and it is its newest. */
void share_enter(struct shares *s, struct share_entry *share, void *entry, const char *node);

/* No longer: others have it too, or it is gone. */
void share_leave(struct shares *s, struct share_entry *share);

/* Number of entries that its host has alone; 0 if other hosts have it, too. */
size_t share_count(const struct share_entry *share);

/* Returns the oldest entry of its host if the host has more than `max` alone, else NULL. */
void *share_excess(struct shares *s, const struct share_entry *share, size_t max);

/* Rank of an entry in a full table. */
struct share_rank {
	size_t hosts, crowd; /* share_count() */
	uint64_t used;	     /* increases with each use of the table */
	void *entry;
};

/* Sort entries in the order of eviction. */
void share_rank(struct share_rank *ranks, size_t n);

/* Call it when no entry is left, or before all are freed. */
void shares_release(struct shares *s);
