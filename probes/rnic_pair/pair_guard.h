/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard over a measurement of pairs: traffic of others through either port makes a value
 * foreign-traffic, not slow; a port that an operator took down, or a device that was removed,
 * is nobody's fault; one that went down by itself warns.
 *
 * Of a pair of two hosts each side guards its own port while it writes.
 */
#pragma once

#include "probes/rdma/rdma.h"
#include "probes/rdma/traffic.h"

struct pair_lanes;
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

/* Do the queue pairs still work after a measurement that came to this? */
bool pair_guard_goes_on(const struct sample *s);
