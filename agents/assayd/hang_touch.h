/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intrusive checks of a hung job, if assayd.yaml enables them: py-spy on each local process of it
 * that has not moved for long (pyspy.h), then NCCL's RAS (ras_client.h), one after the other,
 * within HANG_TOUCH_WALL_US altogether. Finishes at once if they are off or there is no such
 * process.
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
/* Younger processes may still be creating their communicators. Our choice. */
#define HANG_TOUCH_AGE_US (5 * USEC_PER_MIN)

/* `config` is borrowed. `done` is called once for each start, possibly before it returns. */
struct hang_touch *hang_touch_new(struct sd_event *event, const struct assayd_config *config,
				  void (*done)(void *context), void *context);
void hang_touch_free(struct hang_touch *t);

/*
 * Check the ranks (borrowed until `done`) of this run of the job. `nccl` is their NCCL version,
 * NULL if unknown.
 */
void hang_touch_start(struct hang_touch *t, const struct hang_ranks *ranks, const char *job,
		      int64_t run, const char *nccl);

/* Add the results to "groups", "ranks" and "missing" of assay-hang/1. */
void hang_touch_tell(struct hang_touch *t, json_t *groups, json_t *ranks, json_t *missing);
