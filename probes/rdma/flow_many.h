/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several flows driven at once by the calling thread. Each is kept full from start to end, so that
 * flows which share a link share it in every window. A window of a flow ends at the first
 * completion of that flow at or after the window's nominal end.
 *
 * Counting ends when the mean of every flow is known well enough, when every flow has all its
 * windows, or when time is up.
 */
#pragma once

#include "lib/base/err.h"
#include "probes/rdma/flow.h"

enum { FLOW_MANY_MAX = 64 };

/* Half-width of the 95 % confidence interval, relative to the mean, at which counting may stop. */
#define FLOW_STABLE 0.005

/* How long to count. */
struct flow_time {
	uint64_t warm_us;
	uint64_t window_us;
	size_t windows;	 /* maximum, from FLOW_WINDOWS_MIN to FLOW_WINDOWS_MAX */
	bool until_done; /* take all windows, even if the mean is stable */
	uint64_t deadline_us;
};

struct flow_one {
	const struct flow *flow;
	struct flow_result result;
	/*
	 * A negative errno is a set-up error. -ETIME: nothing was counted in time, or what was
	 * outstanding did not complete within FLOW_DRAIN_US; the queues are then unusable.
	 */
	int error;
	struct err err;
};

/*
 * Run `n` (at most FLOW_MANY_MAX) flows of one engine. If a flow fails, the others continue. A flow
 * without any window has error -ETIME unless its `status` gives the reason; a slow flow may have
 * fewer than FLOW_WINDOWS_MIN. If every flow has `stays` set, the caller is pinned to one core
 * until all have ended.
 */
void flow_run_many(struct flow_one *ones, size_t n, const struct flow_time *time);

/*
 * Choose the windows for `count_us` of counting: as many of 25 ms as fit, but between 8 and 32, all
 * of equal length. Even shorter windows would be more correlated than they should be.
 */
void flow_time_set_windows(struct flow_time *time, uint64_t count_us);

/*
 * Returns true if the mean of `n` windows is known to within `part` of itself with 95 % confidence:
 * t s / sqrt(n) <= part * mean (Student's t), and n >= FLOW_WINDOWS_MIN.
 */
bool flow_is_stable(const double *windows, size_t n, double part);
