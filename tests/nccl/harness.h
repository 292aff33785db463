/* SPDX-License-Identifier: Apache-2.0 */
/* Replays NCCL's calls to the profiler plug-in in every order known to cause trouble. Usage is in
 * harness.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/nccl/fake_assayd.h"
#include "tests/nccl/fake_nccl.h"

/* Prints the location and aborts if the condition is false. */
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
	const char *self; /* path of this program, to run it again */
	int api;
	uint64_t events;
	int ranks, times;
	struct fake_nccl nccl;
};

struct scenario {
	const char *name;
	void (*run)(struct harness *h);
};

/* harness_orders.c: one communicator and one order of calls each. harness_lives.c: processes, many
 * communicators, threads. harness_again.c: an assayd that stops and restarts. */
extern const struct scenario harness_orders[], harness_lives[], harness_again[];

/* Opens a communicator whose ring is accepted, with the initial `mask`; its ring is the latest. */
void harness_open(struct harness *h, struct fake_comm *comm, uint32_t mask);

/* The ring of the latest communicator, and its page. */
const struct ring_head *harness_ring(void);
struct ring_control *harness_page(void);

/* Launches one collective with `channels` channels. Returns its handle. */
void *harness_coll(struct fake_comm *comm, const char *func, uint64_t count, int channels);

/* Returns the slot of an operation, which must exist. */
struct fake_slot harness_slot(const struct ring_head *head, uint64_t number);

uint64_t harness_now_ns(void);

/* Returns the resident set size in bytes; 0 under the thread sanitizer, whose own memory grows. */
uint64_t harness_rss(void);

/* Returns the number of rings this process has mapped for writing: those of the plug-in. */
int harness_mapped(void);

/* In harness_lives.c: the program run as a job of its own; see `killed` there. */
void harness_play(struct harness *h, int rank);
