/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The suspects of a window get the hosts that their ranks were on (placement.h), of what pods and
 * the store know. One whose hosts are in doubt loses its name and does not count: nobody is blamed
 * by guess.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/placement.h"
#include "lib/base/macro.h"

struct err;
struct store;

/* Ranks `first` to `first + n - 1` are on a host, from when to when that is known (not the end). */
struct placing_pod {
	char *node;
	int64_t first, n;
	uint64_t from_us, until_us;
};

/* All of a job, by rank. They count where they have as many ranks together as the trace. */
struct placing_pods {
	struct placing_pod *items;
	size_t n;
};

struct placing_window {
	const char *job;
	int64_t run; /* tells claims apart where nobody said when the window was */
	struct placement_span span;
	bool bound;			 /* who sent it may send traces of some jobs alone */
	const struct placing_pods *pods; /* or NULL */
};

/*
 * Each of the suspects of `summary` (summary.h) gets "placed": {"source", "sure", "reason"}; what
 * follows from it (hosts, counts, suspect, sentence) is changed with it; so are the hosts in its
 * "lateness". A negative errno: the store cannot be read, and `summary` is half changed.
 */
int placing_settle(struct store *store, const struct placing_window *window, json_t *summary,
		   struct err *err);

/*
 * Called with each rank of the job whose host is sure in the window, ascending; the name is
 * borrowed. As placing_settle(), but of pods that have not been held against the trace. A negative
 * errno: the store cannot be read. Nothing is said where more is claimed than anybody can look at.
 */
int placing_ranks(struct store *store, const struct placing_window *window,
		  void (*each)(void *context, int64_t rank, const char *node), void *context,
		  struct err *err);
