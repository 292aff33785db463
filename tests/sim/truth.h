/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is true of a simulated fleet, for who grades: which hosts are well, and which GPUs
 * anybody could tell from good ones. Found from what was put into the fleet, never from what was
 * measured.
 *
 * A GPU is identifiable when its true value is below the 0.5th percentile of the good GPUs of its
 * model, and 5 % or more below the slowest of them but itself. What is nearer to good ones is one
 * of them for whoever only measures. It is *apart* when it is 5 % or more below the next of its
 * model, good or slow: of several that were born slow and lie close together each alone is not.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/macro.h"
#include "tests/sim/host.h"

struct truth {
	unsigned char *gpus; /* bits of enum truth_gpu, HOST_PARTS for each host */
	unsigned char *low;  /* hosts with a good GPU below the percentile */
};

enum truth_gpu {
	TRUTH_IDENTIFIABLE = 1,
	TRUTH_APART = 4, /* identifiable, and apart */
	TRUTH_BORN = 2,	 /* slow by what was put into it; else it is a good one */
};

/* After the faults are on their hosts. */
void truth_find(struct truth *t, const struct sim_host *hosts, size_t n);
void truth_release(struct truth *t);

/* A line for each GPU that is slower than almost all of its model. */
void truth_print(const struct truth *t, const struct sim_host *hosts, size_t n, FILE *out);

/* Has it a fault of its own, or shares one, at any time? Lies of its agent are none. */
bool truth_is_clean(const struct sim_host *host);

/* What a fault makes low, as the first word of checks: "gemm". */
const char *truth_family(int fault_kind);
