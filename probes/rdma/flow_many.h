/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flows at once, all driven by the one thread that calls: each is kept full
 * from the first moment to the last, so that flows which share a link share it
 * in every window. A window of a flow ends on its own first completion at or
 * after the time.
 *
 * Counting ends when the mean of every flow is known well enough, when it has
 * all its windows, or when the time is up.
 */
#pragma once

#include "lib/base/err.h"
#include "probes/rdma/flow.h"

enum { FLOW_MANY_MAX = 64 };

/* The mean is known to this part of itself: half a percent. */
#define FLOW_STABLE 0.005

/* How long to count. */
struct flow_time {
	uint64_t warm_us;
	uint64_t window_us;
	size_t windows;	 /* at most, FLOW_WINDOWS_MIN to FLOW_WINDOWS_MAX */
	bool until_done; /* all windows, however stable */
	uint64_t deadline_us;
};

struct flow_one {
	const struct flow *flow;
	struct flow_result result;
	/*
	 * A negative errno is set-up. -ETIME: nothing was counted in time, or what was outstanding
	 * then did not end within FLOW_DRAIN_US; the queues are then of no further use.
	 */
	int error;
	struct err err;
};

/*
 * Run `n` (at most FLOW_MANY_MAX) flows of one engine. A flow that fails ends
 * for itself and the others go on. A flow without a window has error -ETIME
 * unless its `status` says why; a slow one may have less than FLOW_WINDOWS_MIN.
 * Where every flow `stays`, the caller keeps to one core until all have ended.
 */
void flow_run_many(struct flow_one *ones, size_t n, const struct flow_time *time);

/*
 * Windows for `count_us` of counting: as many as fit of 25 ms, within 8 and 32,
 * all equally long. Shorter ones still follow each other more than they should.
 */
void flow_time_set_windows(struct flow_time *time, uint64_t count_us);

/*
 * True when the mean of `n` windows is known within `part` of itself, with 95 %
 * confidence: t s / sqrt(n) <= part * mean (Student's t), and n >= FLOW_WINDOWS_MIN.
 */
bool flow_is_stable(const double *windows, size_t n, double part);
