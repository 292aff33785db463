/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects other users of the cores: once before we load them, and again during each measurement.
 * The thresholds are those of probes/harness/cpu_use.h.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "probes/harness/cpu_use.h"

struct numa_node;
struct team;

struct contention {
	int proc_fd;	       /* /proc of the sysroot; -1: unknown, so never busy */
	int self_fd;	       /* the real /proc, for our own threads */
	struct cpu_look first; /* at the start of the probe */
	struct cpu_look second;
};

/*
 * Observe all cores for `us` without loading them. Without /proc nothing is known, and cores are
 * never considered busy.
 */
void contention_open(struct contention *c, uint64_t us);
void contention_close(struct contention *c);

/*
 * Others count only if they use more than this part of a node's cores (besides half of one core): a
 * daemon on one of a hundred cores costs less bandwidth than the 5 % that is judged slow.
 */
#define CONTENTION_NODE_MAX 0.05

/*
 * If others used the cores of the node at the start, a sentence naming the busiest CPU, otherwise
 * NULL. The caller frees it.
 */
char *contention_before(const struct contention *c, const struct numa_node *node);

/* Time that the threads of a team had lost at one moment. */
struct stint {
	uint64_t at_us;
	uint64_t waited_ns; /* waiting for a core: all threads, from their schedstat */
	uint64_t stolen_ns; /* steal time of their cores; counted in clock ticks */
};

struct stint contention_stint(const struct contention *c, const struct team *team,
			      const struct numa_node *node);

/*
 * If the team lost more than CPU_USE_LOST_MAX of its time since `from`, a sentence that says so,
 * otherwise NULL. The caller frees it.
 */
char *contention_since(const struct contention *c, const struct stint *from,
		       const struct team *team, const struct numa_node *node);
