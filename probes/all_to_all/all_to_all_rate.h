/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of all ends: their data, and how fast they are by size. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct all_to_all;

/*
 * One operation of `bytes`, in its time. False when it did not end: that was
 * told as a sample of `check`, and t->over is set.
 */
bool all_to_all_once(struct all_to_all *t, const char *check, uint64_t bytes);

/* all_to_all.correct. What the sink returned. */
int all_to_all_verify(struct all_to_all *t);

/* all_to_all.size_bw of each size, and t->total of the largest. What the sink returned. */
int all_to_all_rate(struct all_to_all *t);
