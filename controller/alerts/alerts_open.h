/* SPDX-License-Identifier: Apache-2.0 */
/* What operators are to be told of now, from who knows it: the store, the actor, jobs. */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"

struct alert_set;
struct err;
struct service;

/* A job that nothing is heard of for so long while we listen has ended, or nobody sends of it. */
#define ALERTS_OPEN_JOB_US (2 * USEC_PER_HOUR)

/* Put it into `set`, at this time. `listens_us`: since when we listen. */
int alerts_open_find(struct service *s, struct alert_set *set, uint64_t listens_us, uint64_t now_us,
		     struct err *err);
