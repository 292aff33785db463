/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts in an all-reduce: one thread each, over sockets and one simulated
 * fabric. A host may die, hang, or receive the packets of others.
 */
#pragma once

#include <pthread.h>

#include "lib/base/err.h"
#include "probes/all_reduce/reduce.h"
#include "tests/unit/pair_fabric.h"

enum { HOSTS = 3, SAMPLES_MAX = 16, NOBODY = -1 };

struct host {
	struct probe probe; /* first: emit() casts it to its host */
	struct reduce_session session;
	struct sample samples[SAMPLES_MAX];
	size_t n_samples;
	struct err err;
	int r;
};

/* The simulated fabric is not thread-safe: `lock` serializes its calls. */
struct fleet {
	struct pair_fabric fabric;
	struct rdma_ops real;
	pthread_mutex_t lock;
	struct host hosts[HOSTS];
	char *addresses[HOSTS + 1];
	uint64_t after; /* the fault occurs after this many requests */
	int dies;	/* the host that dies, or NOBODY */
	int hangs; /* the host that hangs in its second operation until all others have ended */
	int mute;  /* the host that introduces itself, then is silent until all others have ended */
	int shared;	       /* the host whose port receives packets of others */
	bool flips;	       /* a bit of the first data that arrives */
	bool flips_at_the_end; /* ... in the result, not in the receive buffer before the sum */
	uint64_t posts[HOSTS];
	bool goes_on;
	pthread_cond_t woken;
};
extern struct fleet fleet;

/* Opens good hosts, not connected yet. Set the faults, then call fleet_run(). */
void fleet_open(void);
void fleet_run(void);
void fleet_close(void);

/* Sets the received packets of a host's port, a counter file below test_dir(). */
void fleet_set_received(int rank, long packets);
