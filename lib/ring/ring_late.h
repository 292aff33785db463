/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who keeps whom waiting in a job, from the rings of all its ranks. For a synchronising collective
 * with starts and ends of all ranks on one clock (ring_clock.h):
 *
 *	last   = max start			when the last one came
 *	wait_r = last - start_r
 *	late_r = start_r - median(start)	the lower median: of two the earlier is not late
 *	xfer   = max end - last
 *
 * The lateness of a rank is the result of all work before it: if it waited for others itself, they
 * made it late. So the cause is found by each rank's own time (ring_own.h). There are two distinct
 * answers:
 *
 * - `slowest`: the rank with the longest own time, if the difference exceeds the scatter of the
 *   measurement. Every job has one.
 * - `stands_out`: it is slower than the slowest of as many good ones would be in 99 of 100 jobs.
 *   Good silicon of one kind spreads by SILICON_SPREAD (lib/judge/silicon.h) and has a tail of slow
 *   parts; a fleet that has measured its own spread passes that.
 *
 * A slow link is distinguished from both (ring_links.h).
 *
 * Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/ring/ring_links.h"
#include "lib/ring/ring_own.h"

struct err;

enum {
	RING_LATENESS_PEERS_MIN = 3, /* with fewer, nobody can stand out */
};

/* One in this many jobs of good ranks has one that stands out. */
#define RING_LATENESS_FALSE 100.0

struct ring_lateness_options {
	unsigned dp, pp, tp; /* ranks of one stage do the same work */
	double spread;	     /* of good ranks, one standard deviation; 0: SILICON_SPREAD */
	double stall_s;	     /* a gap this much longer than usual is a stall */
	/* [rank]: if the computing itself is known; NULL: use the gaps between operations */
	const struct ring_gaps *gaps;
};

/* For the communicator with most waiting; preferably of those within its stage. */
struct ring_late {
	size_t collectives; /* seen on all ranks */
	size_t last;	    /* times it came last in these */
	double late_s;	    /* sum of late_r; mean for those not seen on all ranks */
	double wait_s;	    /* of wait_r, the same */
	struct ring_own own;
};

struct ring_lateness {
	struct ring_late *ranks; /* owned: [n_ranks] */
	size_t n_ranks;
	int64_t slowest, stands_out; /* ranks; -1: none */
	double tail; /* a rank must be slower than its peers by this part to stand out; NAN */
	size_t collectives, incomplete;		     /* seen on all their ranks; on some */
	struct ring_slow_link links[RING_LINKS_MAX]; /* slowest first */
	size_t n_links;
	struct ring_stall stalls[RING_OWN_STALLS_MAX]; /* longest first */
	size_t n_stalls;
};

/* -EINVAL: not dp * pp * tp ranks. On success the caller releases `ret`. */
int ring_late_find(const struct ring_job *job, const struct ring_lateness_options *options,
		   struct ring_lateness *ret, struct err *err);
void ring_late_release(struct ring_lateness *l);
