/* SPDX-License-Identifier: Apache-2.0 */
/* Latency of small requests sent one after the other. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;
struct flow;
struct flow_result;

/* Round trips to make. */
struct flow_trips {
	size_t warm;	 /* made first and discarded */
	size_t n;	 /* wanted; size of `seconds` */
	double *seconds; /* borrowed */
	size_t made;	 /* completed by the deadline */
};

/*
 * Send small requests one after the other and time each. Returns 0 with `status` set if a request
 * fails, which ends the measurement. A negative errno is a set-up error. -ETIME: what was
 * outstanding at `deadline_us` did not complete within FLOW_DRAIN_US. After -ETIME or a failed
 * request, the queues are unusable.
 */
int flow_latency(const struct flow *flow, struct flow_trips *trips, uint64_t deadline_us,
		 struct flow_result *ret, struct err *err);
