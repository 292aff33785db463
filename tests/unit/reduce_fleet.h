/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that meet for an all-reduce: one thread each, over sockets and one
 * simulated fabric, on which one may die, stand still, or get what others send.
 */
#pragma once

#include <pthread.h>

#include "lib/base/err.h"
#include "probes/all_reduce/reduce.h"
#include "tests/unit/pair_fabric.h"

enum { HOSTS = 3, SAMPLES_MAX = 16, NOBODY = -1 };

struct host {
	struct probe probe; /* first: emit() finds its host by it */
	struct reduce_session session;
	struct sample samples[SAMPLES_MAX];
	size_t n_samples;
	struct err err;
	int r;
};

/* The simulated fabric knows no threads: one at a time. */
struct fleet {
	struct pair_fabric fabric;
	struct rdma_ops real;
	pthread_mutex_t lock;
	struct host hosts[HOSTS];
	char *addresses[HOSTS + 1];
	uint64_t after; /* when so many requests were made */
	int dies;	/* which host, or NOBODY; */
	int hangs;  /* which stands still in its second operation until all others have ended; */
	int mute;   /* which says who it is, and then nothing until all others have ended */
	int shared; /* whose port gets packets of others */
	bool flips; /* one bit of what comes in first */
	bool flips_at_the_end; /* ... in the buffer, not in the room before it is added up */
	uint64_t posts[HOSTS];
	bool goes_on;
	pthread_cond_t woken;
};
extern struct fleet fleet;

/* Good hosts that have not met; change what is to go wrong, then fleet_run(). */
void fleet_open(void);
void fleet_run(void);
void fleet_close(void);

/* How many packets have come to the port of a host: below test_dir(). */
void fleet_set_received(int rank, long packets);
