/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast hosts compute by their own tests: what a host's slowest GPU usually reaches in gemm.rate
 * (self_baseline.h), relative to the median over all hosts tested alike, so that 1 is normal. Later
 * losses are not included, as the usual value is that of good runs. A host tested in several ways
 * is compared among the largest group. For hosts of five GPUs or fewer their median stands for all.
 *
 * A single good run tells it to 1.5 %, less than half of what good hosts differ by: enough for the
 * norm among a job's hosts, where many share the error of one, but not to call a host slow. A host
 * that is busy for half a day at a time has three runs only on its second day.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"
#include "lib/base/map.h"
#include "lib/judge/silicon.h"

struct baselines;

enum {
	HOST_SPEEDS_RUNS_SURE = 3, /* good runs of a host; with fewer its speed is not certain */
	HOST_SPEEDS_HOSTS_MIN = 8, /* tested alike; with fewer the norm is unknown */
};

struct host_speed {
	char *name;
	double speed;
	struct silicon good; /* spread of good hosts tested alike; `low` is for GPUs */
	size_t of;	     /* number of those hosts */
	bool sure;	     /* based on enough runs that one outlier does not matter */
};

/* Speeds of all known hosts by name. Free with map_release(ret, NULL). */
void host_speeds_find(const struct baselines *baselines, struct map *ret);
