/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What touches a job that stands still, where assayd.yaml has it on: py-spy on each of its
 * processes here that has not moved for long (pyspy.h), then NCCL's RAS (ras_client.h), one after
 * the other and within HANG_TOUCH_WALL_US together. Off, or nobody to look at, it is over at once.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct assayd_config;
struct hang_ranks;
struct hang_touch;
struct sd_event;

#define HANG_TOUCH_WALL_US (40 * USEC_PER_SEC)
/* Who is younger may still be making its communicators. A choice of ours. */
#define HANG_TOUCH_AGE_US (5 * USEC_PER_MIN)

/* `config` is borrowed. `done` is called once for each start, perhaps before it returns. */
struct hang_touch *hang_touch_new(struct sd_event *event, const struct assayd_config *config,
				  void (*done)(void *context), void *context);
void hang_touch_free(struct hang_touch *t);

/*
 * Look at the ranks (borrowed until `done`) of this run of the job. `nccl` is the version of NCCL
 * in them, NULL: not known.
 */
void hang_touch_start(struct hang_touch *t, const struct hang_ranks *ranks, const char *job,
		      int64_t run, const char *nccl);

/* Put what was found into "groups", "ranks" and "missing" of assay-hang/1. */
void hang_touch_tell(struct hang_touch *t, json_t *groups, json_t *ranks, json_t *missing);
