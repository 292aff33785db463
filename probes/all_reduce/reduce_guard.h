/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects foreign traffic during an all-reduce. At a port of any rank it invalidates the results of
 * all, because all are as slow as the slowest.
 *
 * Each rank reads the counters of its own port while nothing goes through it: after the first
 * checked operation, and after each window. To tell whose packets they were, it also needs to know
 * how often the previous rank resent.
 */
#pragma once

#include "probes/coll/verbs.h"
#include "probes/rdma/traffic.h"

struct pair_side;

struct reduce_guard {
	bool begun;
	struct traffic before, now;
	struct coll_ring_flows flows_before, flows_now;
};

/* Read the counters, at which point `flows` were done; the first reading is the reference. */
void reduce_guard_look(struct reduce_guard *g, const struct pair_side *side,
		       const struct coll_ring_flows *flows);

/* Fraction of this rank's data sent through the port since the first reading; NAN: unknown. */
double reduce_guard_share(const struct reduce_guard *g);

/* Resends counted by this port since the first reading. */
uint64_t reduce_guard_resends(const struct reduce_guard *g);

/*
 * Describes foreign traffic through the port if it is too much, otherwise NULL. `out` and `in` give
 * the packets and requests that one lost packet may make either end resend (`mtu`, `window`), and
 * `in` the resends of the previous rank (`resends`). The caller frees the result.
 */
char *reduce_guard_words(const struct reduce_guard *g, const struct pair_side *side,
			 const struct traffic_own *out, const struct traffic_own *in);
