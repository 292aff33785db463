/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a probe that reads counters kept from its last run, how long ago that
 * was, and what it keeps for the next. Time is that since the boot
 * (/proc/uptime below the sysroot): the wall clock may jump.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"
#include "probes/harness/counter.h"

struct probe;

struct since {
	json_t *past;		  /* of the last run, of any boot; {} at the first */
	json_t *next;		  /* what this run keeps; `counters` and `uptime_s` are put there */
	bool same_boot;		  /* `past` is of this boot */
	double uptime_s;	  /* seconds since the boot; NAN when not known */
	double window_s;	  /* since the last run, or since the boot; NAN when not known */
	struct counters counters; /* of this boot */
};

void since_open(const struct probe *probe, struct since *ret);
void since_release(struct since *s);

/*
 * Keep `next`, once all was printed: a run that was killed leaves its findings
 * to the next one. What cannot be written is told in a warning.
 */
void since_keep(const struct probe *probe, struct since *s);
