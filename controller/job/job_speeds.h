/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hosts of a window are known to reach by their own tests, for its analysis
 * (attribution/speeds.h): that holds each against the fleet, not only against those that the lottery
 * gave it for neighbours. The speeds of all hosts are gathered at most each JOB_SPEEDS_FRESH_US.
 */
#pragma once

#include <stdint.h>

#include "controller/job/placing.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/base/map.h"

struct baselines;
struct err;
struct host_speed;
struct store;

#define JOB_SPEEDS_FRESH_US (10 * USEC_PER_MIN)

/* Zero it before its first use. */
struct job_speeds {
	struct map hosts; /* of struct host_speed */
	uint64_t due_us;  /* monotonic: when they are gathered anew */
};

/*
 * Of the ranks whose host is sure in the window; `ret` is new memory, NULL when nothing is known of
 * any. A negative errno: the store cannot be read.
 */
int job_speeds_of(struct job_speeds *speeds, const struct baselines *baselines, struct store *store,
		  const struct placing_window *window, char **ret, struct err *err);

/* What is known of a host, as of a while ago; NULL: nothing. Borrowed until the next call. */
const struct host_speed *job_speeds_host(struct job_speeds *speeds,
					 const struct baselines *baselines, const char *node);

void job_speeds_release(struct job_speeds *speeds);
