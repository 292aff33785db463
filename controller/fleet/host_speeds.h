/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast hosts compute by their own tests: of each what its slowest GPU usually reaches in
 * gemm.rate (self_baseline.h), over the median of that of all hosts that were tested alike, so that
 * 1 is usual. What a host has lost since is not in it: its usual is that of its good runs. A host
 * that was tested in several ways is held against the most hosts. Of hosts of five GPUs or fewer
 * their middle speaks for all.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"
#include "lib/base/map.h"
#include "lib/judge/silicon.h"

struct baselines;

enum {
	HOST_SPEEDS_RUNS_MIN = 3,  /* good runs of a host, fewer say nothing */
	HOST_SPEEDS_HOSTS_MIN = 8, /* tested alike: of fewer nobody knows what is usual */
};

struct host_speed {
	char *name;
	double speed;
	struct silicon good; /* how good hosts are that were tested alike; `low` of GPUs */
	size_t of;	     /* so many hosts */
};

/* Of every host that is known, by its name; map_release(ret, NULL) frees it. */
void host_speeds_find(const struct baselines *baselines, struct map *ret);
