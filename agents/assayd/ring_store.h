/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings over a restart of assayd: the service manager keeps their descriptors (FDSTORE=1 of
 * sd_notify(3), FileDescriptorStoreMax= of assayd.service) and hands them to whoever it starts
 * next. Without one nothing is kept, and nobody is told.
 *
 *	rank.PID.START			what is known of a process: sealed memory of ours, in JSON
 *	ring.PID.START.INODE		a ring of it, as the job handed it over
 *
 * What comes back is looked at as if a stranger had sent it: seals first, then its size, and no
 * ring counts without what is known of its process.
 */
#pragma once

#include "agents/assayd/ring_set.h"
#include "lib/base/macro.h"

struct err;

enum {
	RING_STORE_NAME_SIZE = 96,
	RING_STORE_RANK_MAX = 4096, /* bytes of what is known of a process */
};

/* As `keep` and `let_go` of struct ring_set. */
void ring_store_keep(const struct ring_process *process, const struct ring_entry *ring, int fd);
void ring_store_let_go(const struct ring_process *process, const struct ring_entry *ring);

/* One that came back. */
struct ring_store_item {
	const char *name; /* "": it has none */
	int fd;
};

/*
 * Hold what came back again, and have the service manager forget the rest. Descriptors are closed.
 * `ended` is told what became of each ring, with what it is said to be of.
 */
void ring_store_adopt(struct ring_set *set, const struct ring_store_item *items, size_t n,
		      void (*ended)(void *context, enum ring_refusal why,
				    const struct ring_process *said),
		      void *context);

/*
 * What the service manager handed to this process: once, and before anything is started from here,
 * which it is kept from. Returns how many, at least 0; `*ret_items` is yours, to be given to
 * ring_store_free(), which closes nothing.
 */
size_t ring_store_take(struct ring_store_item **ret_items);
void ring_store_free(struct ring_store_item *items, size_t n);

/* What is known of a process, as it is kept: sealed memory, or -errno. */
int ring_store_write_rank(const struct ring_process *process);

/* The same read. -EPROTO with a sentence: it is not sealed, too large, or says what cannot be. */
int ring_store_read_rank(int fd, struct ring_process *ret, struct err *err);
