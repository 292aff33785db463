/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who keeps whom waiting in a job, from the rings of all its ranks. Of a collective that
 * synchronises, with starts and ends of all of its ranks on one clock (ring_clock.h):
 *
 *	last   = max start			when the latest came
 *	wait_r = last - start_r
 *	late_r = start_r - median(start)	the lower median: of two the earlier is not late
 *	xfer   = max end - last
 *
 * What a rank is late by is the work of all before it: where it waited for others itself, they made
 * it late. So whom it comes from is told by its own time (ring_own.h). Two answers, not to be
 * mixed up:
 *
 *  - `slowest`: the rank whose own time is longest, if that is more than the measurement scatters.
 *    Every job has one.
 *  - `stands_out`: it is slower than the slowest of as many good ones would be, in 99 of 100 jobs.
 *    Good silicon of one kind spreads by SILICON_SPREAD (lib/judge/silicon.h) and has a tail of
 *    slow ones; a fleet that has measured its own spread gives it.
 *
 * A slow link is told apart from both (ring_links.h).
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
	RING_LATENESS_PEERS_MIN = 3, /* with fewer nobody can be said to stand out */
};

/* One in so many jobs of good ranks has one that stands out. */
#define RING_LATENESS_FALSE 100.0

struct ring_lateness_options {
	unsigned dp, pp, tp; /* ranks of one stage do the same work */
	double spread;	     /* of good ranks, one standard deviation; 0: SILICON_SPREAD */
	double stall_s;	     /* a gap so much longer than usual is a stall */
	/* [rank]: of who knows what each computed; NULL: what is between operations of the rings */
	const struct ring_gaps *gaps;
};

/* Of the communicator in which most is waited, of those within its stage where there are any. */
struct ring_late {
	size_t collectives; /* in which all ranks were seen */
	size_t last;	    /* of these it came in last in so many */
	double late_s;	    /* sum of late_r; of those that were not seen on all ranks the mean */
	double wait_s;	    /* of wait_r, likewise */
	struct ring_own own;
};

struct ring_lateness {
	struct ring_late *ranks; /* owned: [n_ranks] */
	size_t n_ranks;
	int64_t slowest, stands_out; /* ranks; -1: nobody */
	double tail; /* what stands out is slower by at least this part than its peers; NAN */
	size_t collectives, incomplete;		     /* seen on all their ranks; on some */
	struct ring_slow_link links[RING_LINKS_MAX]; /* slowest first */
	size_t n_links;
	struct ring_stall stalls[RING_OWN_STALLS_MAX]; /* longest first */
	size_t n_stalls;
};

/* -EINVAL: not dp * pp * tp ranks. On success `ret` is to be released. */
int ring_late_find(const struct ring_job *job, const struct ring_lateness_options *options,
		   struct ring_lateness *ret, struct err *err);
void ring_late_release(struct ring_lateness *l);
