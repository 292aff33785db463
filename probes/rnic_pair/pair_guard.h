/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards the measurement of pairs. Foreign traffic through either port makes a value
 * foreign-traffic, not slow. A port taken down by an operator, or a removed device, is nobody's
 * fault; a port that went down by itself is a warning.
 *
 * With two hosts each side guards its own port. The writer knows what it asked of its port; the
 * target learns that from the writer (pair_message.h) and reports its finding back.
 */
#pragma once

#include "probes/rdma/rdma.h"
#include "probes/rdma/traffic.h"

struct pair_lanes;
struct pair_side;
struct sample;

/* The state at the start of measuring one of the lanes. */
struct pair_guard {
	struct traffic from, to; /* counters of both ports, if on this host */
	struct rdma_posted posted;
};

/* To be called before measuring `n` lanes at once, with one guard each. */
void pair_guard_begin(const struct pair_lanes *const *lanes, size_t n, struct pair_guard *guards);

/*
 * To be called afterwards: attributes values and failures to the state of the ports or to foreign
 * traffic where they explain them. Samples that were not tried are left alone.
 */
void pair_guard_end(const struct pair_lanes *const *lanes, size_t n,
		    const struct pair_guard *guards, struct sample *samples);

/* --- the written-to end of a pair of two hosts --- */

/* What the other side wrote in a step. All zero: it does not know. */
struct pair_written {
	uint64_t requests, bytes;
	uint64_t resends; /* counted by its port */
};

/* Totals since before `from`, the guard of the first measurement of the step. */
struct pair_written pair_guard_written(const struct pair_lanes *l, const struct pair_guard *from);

/* The state of the written-to end. */
struct pair_reading {
	const struct pair_side *side; /* NULL: not watched */
	struct traffic before;
	unsigned mtu;
	uint64_t window;
};

void pair_reading_begin(const struct pair_lanes *l, struct pair_reading *ret);

/*
 * Describes foreign traffic through this port since then if it is too much, otherwise NULL. The
 * caller frees the result.
 */
char *pair_reading_end(const struct pair_reading *reading, const struct pair_written *written);

/* Mark the value as disturbed by foreign traffic, as one of the two ends reports in `words`. */
void pair_guard_blame_others(struct sample *s, const char *words);

/* Are the queue pairs still usable after a measurement with this result? */
bool pair_guard_goes_on(const struct sample *s);
