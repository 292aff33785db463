/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard over a rail of an all-reduce: traffic of others through a port of any
 * rank makes what all of them measured worthless, as all are as slow as the slowest.
 *
 * Each rank reads the counters of its own port while nothing goes through it: after
 * the operation that is checked first, and after each window. Only then, with how
 * often the rank before it had to send again, it can tell whose packets they were.
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

/* The counters now, after `flows`; the first time they are those that the guard begins with. */
void reduce_guard_look(struct reduce_guard *g, const struct pair_side *side,
		       const struct coll_ring_flows *flows);

/* Part of what this rank sent that left through the port since it began; NAN: it is not counted. */
double reduce_guard_share(const struct reduce_guard *g);

/* How often this port has sent again since it began. */
uint64_t reduce_guard_resends(const struct reduce_guard *g);

/*
 * What others sent through the port meanwhile; `out` and `in` are of packets and requests that one
 * lost packet may make either end send again (`mtu`, `window`), and `in` of what the rank before
 * sent again (`resends`). New memory; NULL: nothing to speak of.
 */
char *reduce_guard_words(const struct reduce_guard *g, const struct pair_side *side,
			 const struct traffic_own *out, const struct traffic_own *in);
