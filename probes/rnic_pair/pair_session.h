/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of two hosts: each rail of this host with the same rail of the other (pair_rails.h), in
 * both directions. The dialling side leads, the other follows (pair_message.h). Both emit the same
 * results, each with its own end named plainly and the other end by node.
 *
 * A result counts only once the other side has acknowledged it: if the other side was killed, the
 * writer sees a dead path, and must not report it as bad.
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
	struct pair_side *sides; /* of this host; borrowed, and sorted by rail */
	size_t n_sides;
	struct pair_options *options; /* shared by all sides; the follower adopts the leader's */
	const struct topology *topology;
	const struct numa_host *host; /* for its cores; may be NULL */
	struct pair_gpus *gpus;	      /* of this host; not open yet on the following side */
	uint64_t memory_bytes;	      /* of each side, in each direction */
	const char *other;	      /* the other side as given, until it says its name */
	char node[PAIR_NAME_MAX + 1]; /* this host's name */
	struct oob line;
	bool leads;
	struct pair_message peer;	/* the hello of the other side */
	size_t n_rails;			/* matched sides, at the front of both lists */
	unsigned rails[PAIR_PORTS_MAX]; /* their rail numbers */
	uint64_t deadline_us;		/* of both sides */
	struct pair_lanes lanes;
	struct pair_written written;			    /* by this side in the current step */
	struct pair_reading reading;			    /* while the other writes */
	bool emitted[PAIR_PORTS_MAX][2][PAIR_CHECKS];	    /* by rail and whether it goes out */
	int (*emit)(struct probe *probe, struct sample *s); /* probe_emit() */
};

/* Exchange hellos, then measure all rails. Samples of what was not measured say why. */
int pair_session_run(struct pair_session *s, struct err *err);
