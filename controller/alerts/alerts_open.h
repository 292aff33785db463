/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the current alerts from their sources: the store, the actor, jobs. */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"

struct alert_set;
struct err;
struct service;

/* A job silent for this long while we listen has ended, or nobody sends data for it. */
#define ALERTS_OPEN_JOB_US (2 * USEC_PER_HOUR)

/* Collect into `set`, at this time. `listens_us`: since when we listen. */
int alerts_open_find(struct service *s, struct alert_set *set, uint64_t listens_us, uint64_t now_us,
		     struct err *err);
