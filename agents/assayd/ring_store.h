/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps rings across a restart of assayd: the service manager holds their descriptors (FDSTORE=1,
 * sd_notify(3), FileDescriptorStoreMax= in assayd.service) and passes them to the next assayd.
 * Without a service manager nothing is kept.
 *
 *	rank.PID.START			what is known of a process: sealed memory of ours, in JSON
 *	ring.PID.START.INODE		one of its rings, as the job passed it
 *
 * What comes back is checked as if it came from a stranger: first seals, then the size; and a
 * ring is useless without the data of its process.
 */
#pragma once

#include "agents/assayd/ring_set.h"
#include "lib/base/macro.h"

struct err;

enum {
	RING_STORE_NAME_SIZE = 96,
	RING_STORE_RANK_MAX = 4096, /* bytes of a process's data */
};

/* As `keep` and `let_go` of struct ring_set. */
void ring_store_keep(const struct ring_process *process, const struct ring_entry *ring, int fd);
void ring_store_let_go(const struct ring_process *process, const struct ring_entry *ring);

/* A descriptor that came back. */
struct ring_store_item {
	const char *name; /* "" if it has none */
	int fd;
};

/*
 * Hold the returned rings again, and have the service manager drop the rest. Closes the
 * descriptors. `ended` is called with the outcome of each ring and the process that it claims to
 * be of.
 */
void ring_store_adopt(struct ring_set *set, const struct ring_store_item *items, size_t n,
		      void (*ended)(void *context, enum ring_refusal why,
				    const struct ring_process *said),
		      void *context);

/*
 * Take the descriptors that the service manager passed to this process. Call it once, before
 * starting any child, which must not inherit them. Returns how many, at least 0; the caller frees
 * `*ret_items` with ring_store_free(), which does not close them.
 */
size_t ring_store_take(struct ring_store_item **ret_items);
void ring_store_free(struct ring_store_item *items, size_t n);

/* Write the data of a process into sealed memory. Returns its descriptor or -errno. */
int ring_store_write_rank(const struct ring_process *process);

/* Read it back. -EPROTO with a sentence if it is not sealed, too large, or invalid. */
int ring_store_read_rank(int fd, struct ring_process *ret, struct err *err);
