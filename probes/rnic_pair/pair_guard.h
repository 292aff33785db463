/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard over a measurement of pairs: traffic of others through either port makes a value
 * foreign-traffic, not slow; a port that an operator took down, or a device that was removed,
 * is nobody's fault; one that went down by itself warns.
 *
 * Of a pair of two hosts each side guards its own port: who writes knows what was asked of it,
 * who is written to hears that from the other (pair_message.h) and tells what it makes of it.
 */
#pragma once

#include "probes/rdma/rdma.h"
#include "probes/rdma/traffic.h"

struct pair_lanes;
struct pair_side;
struct sample;

/* How things stood when the measurement of one of the lanes began. */
struct pair_guard {
	struct traffic from, to; /* counters of both ports, as far as they are of this host */
	struct rdma_posted posted;
};

/* Before measuring over `n` lanes at once, one guard each. */
void pair_guard_begin(const struct pair_lanes *const *lanes, size_t n, struct pair_guard *guards);

/* After it: what each sample is worth. One that says why there is none stays what it is. */
void pair_guard_end(const struct pair_lanes *const *lanes, size_t n,
		    const struct pair_guard *guards, struct sample *samples);

/* --- the end of two hosts that is written to --- */

/* What one side wrote in a step. None: it does not know. */
struct pair_written {
	uint64_t requests, bytes;
	uint64_t resends; /* that its port counted */
};

/* Since before `from`, which is of the first measurement of the step. */
struct pair_written pair_guard_written(const struct pair_lanes *l, const struct pair_guard *from);

/* How things stood at the end that is written to. */
struct pair_reading {
	const struct pair_side *side; /* NULL: not watched */
	struct traffic before;
	unsigned mtu;
	uint64_t window;
};

void pair_reading_begin(const struct pair_lanes *l, struct pair_reading *ret);

/* What others sent through this port meanwhile, when that is too much. New memory, or NULL. */
char *pair_reading_end(const struct pair_reading *reading, const struct pair_written *written);

/* The value is not of the path alone: so says one of the two ends, in `words`. */
void pair_guard_blame_others(struct sample *s, const char *words);

/* Do the queue pairs still work after a measurement that came to this? */
bool pair_guard_goes_on(const struct sample *s);
