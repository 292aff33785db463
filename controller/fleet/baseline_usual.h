/* SPDX-License-Identifier: Apache-2.0 */
/* What hosts and their parts usually reach, within one baseline. */
#pragma once

#include "controller/fleet/baseline_hosts.h"

struct verdict;

/* Compare a value of the host, whose parts have the median `middle`, with the other hosts. Returns
 * false if there are too few of them. */
bool baseline_hold(struct baseline *line, const char *node, const struct measure *m, double middle,
		   struct expectation *ret);

/* A part of a host in one run, whose other parts have the median `middle`. Borrowed. */
struct baseline_part {
	const char *node, *subject;
	const struct measure *m;
	double middle;
};

/*
 * Was the host measured with other params before, as with an earlier driver, among more hosts than
 * have these params so far? If its parts were good there, and this one had the same ratio to the
 * others as now, it is not an outlier here either, however low it is.
 */
bool baselines_among(const struct baselines *b, const struct baseline *line,
		     const struct baseline_part *part);

/* Learn from `n` values of one run of the host, ascending. */
void baseline_learn_usual(struct baseline *line, const struct verdict *verdict, const char *node,
			  const struct self_baseline_value *values, size_t n);
