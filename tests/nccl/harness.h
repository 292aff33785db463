/* SPDX-License-Identifier: Apache-2.0 */
/* Plays NCCL's calls of the profiler plug-in, in every order that is known to bite. harness.c has
 * the words. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/nccl/fake_assayd.h"
#include "tests/nccl/fake_nccl.h"

/* Fails the program with the place. */
#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

enum {
	MASK_RECORD = PROFILER_COLL | PROFILER_P2P | PROFILER_KERNEL_CH,
	MASK_ALL = MASK_RECORD | PROFILER_PROXY_OP | PROFILER_PROXY_STEP,
	WAIT_LIMIT_MS = 120000,
};

struct harness {
	const char *plugin;
	const char *self; /* this program, to be run again */
	int api;
	uint64_t events;
	int ranks, times;
	struct fake_nccl nccl;
};

struct scenario {
	const char *name;
	void (*run)(struct harness *h);
};

/* harness_orders.c: one communicator, one order of calls each. harness_lives.c: processes, many
 * communicators, threads. harness_again.c: an assayd that goes and comes again. */
extern const struct scenario harness_orders[], harness_lives[], harness_again[];

/* A communicator whose ring was taken, of which `mask` is wanted from the first; its ring is the
 * last. */
void harness_open(struct harness *h, struct fake_comm *comm, uint32_t mask);

/* The ring of the last communicator that came, and its page. */
const struct ring_head *harness_ring(void);
struct ring_control *harness_page(void);

/* One collective of so many channels, launched alone; its handle. */
void *harness_coll(struct fake_comm *comm, const char *func, uint64_t count, int channels);

/* The slot of an operation, which must be there. */
struct fake_slot harness_slot(const struct ring_head *head, uint64_t number);

uint64_t harness_now_ns(void);

/* Pages of this process that are in memory, in bytes; 0 under the thread sanitizer, whose own grow
 * with what it sees. */
uint64_t harness_rss(void);

/* Rings that this process has mapped for writing: those of the plug-in. */
int harness_mapped(void);

/* harness_lives.c: what the program does as a job of its own: see `killed` there. */
void harness_play(struct harness *h, int rank);
