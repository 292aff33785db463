/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast hosts compute by their own tests: of each what its slowest GPU usually reaches in
 * gemm.rate (self_baseline.h), over the median of that of all hosts that were tested alike, so that
 * 1 is usual. What a host has lost since is not in it: its usual is that of its good runs. A host
 * that was tested in several ways is held against the most hosts. Of hosts of five GPUs or fewer
 * their middle speaks for all.
 *
 * One good run says it to 1.5 %, less than the half of what good hosts differ by: enough to say what
 * is usual among the hosts of a job, where the error of one is shared by many, and not enough to call
 * a host slow. A host that is busy for half a day at a time has three only on its second day.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"
#include "lib/base/map.h"
#include "lib/judge/silicon.h"

struct baselines;

enum {
	HOST_SPEEDS_RUNS_SURE =
		3, /* good runs of a host, fewer do not say for sure how fast it is */
	HOST_SPEEDS_HOSTS_MIN = 8, /* tested alike: of fewer nobody knows what is usual */
};

struct host_speed {
	char *name;
	double speed;
	struct silicon good; /* how good hosts are that were tested alike; `low` of GPUs */
	size_t of;	     /* so many hosts */
	bool sure;	     /* of so many runs that one odd one does not matter */
};

/* Of every host that is known, by its name; map_release(ret, NULL) frees it. */
void host_speeds_find(const struct baselines *baselines, struct map *ret);
