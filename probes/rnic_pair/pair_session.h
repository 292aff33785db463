/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of two hosts: each rail of this one with the same rail of the other
 * (pair_rails.h), both directions. Who dialled leads, the other follows (pair_message.h); both emit
 * the same results, each with its own end named plainly and the other's by node.
 *
 * A result counts when the other side has acknowledged it: a writer whose other
 * side was killed sees a dead path, and must not call it a sick one.
 */
#pragma once

#include "probes/rdma/oob.h"
#include "probes/rnic_pair/pair_message.h"

struct numa_host;
struct pair_gpus;
struct topology;

struct pair_session {
	struct probe *probe;
	struct rdma_engine *engine;
	struct pair_side *sides; /* of this host; borrowed, and put into the order of the rails */
	size_t n_sides;
	struct pair_options *options; /* of all sides; the follower takes the leader's */
	const struct topology *topology;
	const struct numa_host *host; /* where its cores are; may be NULL */
	struct pair_gpus *gpus;	      /* of this host, as yet unopened where it follows */
	uint64_t memory_bytes;	      /* of each side, each way */
	const char *other;	      /* how it was asked for, until it says its name */
	char node[PAIR_NAME_MAX + 1]; /* this host's name */
	struct oob line;
	bool leads;
	struct pair_message peer;	/* its hello */
	size_t n_rails;			/* the first so many sides of both hosts */
	unsigned rails[PAIR_PORTS_MAX]; /* their numbers */
	uint64_t deadline_us;		/* of both sides */
	struct pair_lanes lanes;
	struct pair_written written;		      /* by this side in the step at hand */
	struct pair_reading reading;		      /* while the other writes */
	bool emitted[PAIR_PORTS_MAX][2][PAIR_CHECKS]; /* by rail and whether it goes out from here */
	int (*emit)(struct probe *probe, struct sample *s); /* probe_emit() */
};

/* Say hello, then measure all rails. What was not measured has samples that say why. */
int pair_session_run(struct pair_session *s, struct err *err);
