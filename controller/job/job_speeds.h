/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speeds of a window's hosts by their own tests, for its analysis (attribution/speeds.h), so that
 * each is compared with the whole fleet and not only with the hosts it happens to share the job
 * with. Speeds of all hosts are collected at most every JOB_SPEEDS_FRESH_US.
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

/* Zero it before first use. */
struct job_speeds {
	struct map hosts; /* struct host_speed */
	uint64_t due_us;  /* monotonic: next collection */
};

/*
 * Speeds for the ranks whose host in the window is sure; `ret` is new memory, NULL if none is
 * known. Returns a negative errno if the store cannot be read.
 */
int job_speeds_of(struct job_speeds *speeds, const struct baselines *baselines, struct store *store,
		  const struct placing_window *window, char **ret, struct err *err);

/* The speed of a host as last collected; NULL: unknown. Borrowed until the next call. */
const struct host_speed *job_speeds_host(struct job_speeds *speeds,
					 const struct baselines *baselines, const char *node);

void job_speeds_release(struct job_speeds *speeds);
