/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the hosts of their ranks to the suspects of a window (placement.h), from pods and the store.
 * A suspect whose hosts are in doubt loses its name and does not count: nobody is blamed on a
 * guess.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/placement.h"
#include "lib/base/macro.h"

struct err;
struct store;

/* Ranks `first` to `first + n - 1` are on a host; until_us is exclusive. */
struct placing_pod {
	char *node;
	int64_t first, n;
	uint64_t from_us, until_us;
};

/* All pods of a job, by rank. They count only if they have as many ranks in total as the trace. */
struct placing_pods {
	struct placing_pod *items;
	size_t n;
};

struct placing_window {
	const char *job;
	int64_t run; /* separates claims if the time of the window is unknown */
	struct placement_span span;
	bool bound;			 /* the sender may send traces of certain jobs only */
	const struct placing_pods *pods; /* or NULL */
};

/*
 * Add "placed": {"source", "sure", "reason"} to each suspect of `summary` (summary.h), and update
 * what depends on it (hosts, counts, suspect, sentence), and the hosts in its "lateness". Returns a
 * negative errno if the store cannot be read; `summary` is then partly changed.
 */
int placing_settle(struct store *store, const struct placing_window *window, json_t *summary,
		   struct err *err);

/*
 * Call `each` for each rank of the job whose host is sure in the window, ascending; the name is
 * borrowed. As placing_settle(), but pods are not checked against the trace. Does nothing if there
 * are too many claims to check. Returns a negative errno if the store cannot be read.
 */
int placing_ranks(struct store *store, const struct placing_window *window,
		  void (*each)(void *context, int64_t rank, const char *node), void *context,
		  struct err *err);
