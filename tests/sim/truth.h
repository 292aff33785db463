/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ground truth of a simulated fleet, for grading: which hosts are healthy, and which GPUs can
 * be told from good ones at all. Derived from the injected faults, never from measurements.
 *
 * A GPU is identifiable if its true value is below the 0.5th percentile of the good GPUs of its
 * model, and at least 5 % below the slowest other good one; a measurement cannot tell a closer one
 * from a good one. It is *apart* if it is at least 5 % below the next GPU of its model, good or
 * slow: of several born slow and close together, none is apart.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/macro.h"
#include "tests/sim/host.h"

struct truth {
	unsigned char *gpus; /* bits of enum truth_gpu, HOST_PARTS per host */
	unsigned char *low;  /* hosts with a good GPU below the percentile */
};

enum truth_gpu {
	TRUTH_IDENTIFIABLE = 1,
	TRUTH_APART = 4, /* identifiable, and apart */
	TRUTH_BORN = 2,	 /* slow by an injected fault; else a good one */
};

/* Computes the truth, after the faults were assigned to their hosts. */
void truth_find(struct truth *t, const struct sim_host *hosts, size_t n);
void truth_release(struct truth *t);

/* Prints a line for each GPU that is slower than almost all of its model. */
void truth_print(const struct truth *t, const struct sim_host *hosts, size_t n, FILE *out);

/* Is the host without any fault, own or shared, at all times? Wrong reports do not count. */
bool truth_is_clean(const struct sim_host *host);

/* Returns the first word of the checks that the fault lowers: "gemm". */
const char *truth_family(int fault_kind);
