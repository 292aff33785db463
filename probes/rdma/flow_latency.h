/* SPDX-License-Identifier: Apache-2.0 */
/* Small requests one after the other, and how long each is under way. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;
struct flow;
struct flow_result;

/* Round trips to make. */
struct flow_trips {
	size_t warm;	 /* thrown away before */
	size_t n;	 /* wanted: room in `seconds` */
	double *seconds; /* borrowed */
	size_t made;	 /* by the deadline */
};

/*
 * One small request after the other, timed each. A request that fails ends it: 0 with
 * `status` set. A negative errno is set-up. -ETIME: what was outstanding at `deadline_us`
 * did not end within FLOW_DRAIN_US; the queues are then of no further use, as after a failure.
 */
int flow_latency(const struct flow *flow, struct flow_trips *trips, uint64_t deadline_us,
		 struct flow_result *ret, struct err *err);
