/* SPDX-License-Identifier: Apache-2.0 */
/* What hosts and their parts usually reach, of those under one key of the baselines. */
#pragma once

#include "controller/fleet/baseline_hosts.h"

struct verdict;

/* What the others say of a value of the host, whose parts have the median `middle`; false when they
 * are too few to say anything. */
bool baseline_hold(struct baseline *line, const char *node, const struct measure *m, double middle,
		   struct expectation *ret);

/* A part of a host in one run, beside which the other parts have the median `middle`. Borrowed. */
struct baseline_part {
	const char *node, *subject;
	const struct measure *m;
	double middle;
};

/*
 * The host was measured with other params before, as with another driver, among more hosts than
 * have come to these. There its parts were good ones, and this one was to the others what it is
 * now: then it is not apart here either, however far out it is.
 */
bool baselines_among(const struct baselines *b, const struct baseline *line,
		     const struct baseline_part *part);

/* `n` values of one run of the host, ascending. */
void baseline_learn_usual(struct baseline *line, const struct verdict *verdict, const char *node,
			  const struct self_baseline_value *values, size_t n);
