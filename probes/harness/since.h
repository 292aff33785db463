/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a probe that reads counters saved in its last run, how long ago that was, and what it saves
 * for the next. Times are seconds since boot (/proc/uptime below the sysroot), because the wall
 * clock may jump.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"
#include "probes/harness/counter.h"

struct probe;

struct since {
	json_t *past;		  /* of the last run, in any boot; {} at first */
	json_t *next;		  /* to be saved by this run; `counters` and `uptime_s` are added */
	bool same_boot;		  /* `past` is from this boot */
	double uptime_s;	  /* since boot; NAN if unknown */
	double window_s;	  /* seconds since the last run, or since boot; NAN if unknown */
	struct counters counters; /* in this boot */
};

void since_open(const struct probe *probe, struct since *ret);
void since_release(struct since *s);

/*
 * Save `next`. To be called after everything is printed, so that a run that is killed leaves its
 * findings to the next one. Logs a warning if it cannot be saved.
 */
void since_keep(const struct probe *probe, struct since *s);
