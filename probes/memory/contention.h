/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether somebody else uses the cores: once before anything is loaded, and
 * again over each measurement. The limits are those of probes/harness/cpu_use.h.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "probes/harness/cpu_use.h"

struct numa_node;
struct team;

struct contention {
	int proc_fd;	       /* of the sysroot; -1: nothing is known, nobody is busy */
	int self_fd;	       /* of the real /proc, where our own threads are */
	struct cpu_look first; /* when the probe began */
	struct cpu_look second;
};

/*
 * Look at all cores for `us` without loading any. Without /proc there is
 * nothing to see, and nobody is ever busy.
 */
void contention_open(struct contention *c, uint64_t us);
void contention_close(struct contention *c);

/*
 * Of the cores of a node, so much (beside one of them half used) must be used
 * by others before it counts: a daemon on one of a hundred cores takes less of
 * their bandwidth than the 5 % that a judge calls slow.
 */
#define CONTENTION_NODE_MAX 0.05

/*
 * A sentence that names the busiest CPU when the cores of the node were used by
 * others in that time, NULL when they were not. New memory.
 */
char *contention_before(const struct contention *c, const struct numa_node *node);

/* What the threads of a team had lost at one moment. */
struct stint {
	uint64_t at_us;
	uint64_t waited_ns; /* for a core: all threads, from their schedstat */
	uint64_t stolen_ns; /* by the hypervisor from their cores; counts in clock ticks */
};

struct stint contention_stint(const struct contention *c, const struct team *team,
			      const struct numa_node *node);

/*
 * A sentence when the team lost more than CPU_USE_LOST_MAX of its time since
 * `from`, NULL when it did not. New memory.
 */
char *contention_since(const struct contention *c, const struct stint *from,
		       const struct team *team, const struct numa_node *node);
