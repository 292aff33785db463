/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table that any host adds to, in words of its own: checks, params, SKUs. What only one host
 * names is that host's, and of such entries it has a share: beyond that its own oldest make
 * room. So a host that invents names, or puts something into them that varies, takes room
 * from itself. When the whole table is full the entries of the fewest hosts go, of those with
 * one host the ones of whom has most of them, and the oldest first. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lib/base/macro.h"

struct share_host;

/* Part of an entry of the table; zeroes: no host has it alone. */
struct share_entry {
	TAILQ_ENTRY(share_entry) link;
	struct share_host *host;
	void *entry; /* what it is a part of */
};

/* All zero at the start. */
struct shares {
	void *tree;    /* of struct share_host, by name */
	char *crowded; /* a host that has used up its share, to be told once; owned, NULL: none */
	uint64_t dropped; /* entries that made room */
	uint64_t filled;  /* how often the whole table was full */
};

/* `entry` is of `node` alone, and its newest. */
void share_enter(struct shares *s, struct share_entry *share, void *entry, const char *node);

/* It is not any more: others have it too, or it is gone. */
void share_leave(struct shares *s, struct share_entry *share);

/* How many entries its host has alone; 0 when others have it too. */
size_t share_count(const struct share_entry *share);

/* The oldest entry of its host when that has more than `max` of them alone; else NULL. */
void *share_excess(struct shares *s, const struct share_entry *share, size_t max);

/* An entry when the table is full. */
struct share_rank {
	size_t hosts, crowd; /* share_count() */
	uint64_t used;	     /* counts up with each use of the table */
	void *entry;
};

/* Put what goes first to the front. */
void share_rank(struct share_rank *ranks, size_t n);

/* When no entry is left, or before all of them are freed. */
void shares_release(struct shares *s);
