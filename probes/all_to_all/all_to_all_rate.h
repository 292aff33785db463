/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of all ends: data integrity, and the rate by size. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct all_to_all;

/*
 * Run one operation of `bytes` within its time limit. If it does not end, emits that as a sample of
 * `check`, sets t->over and returns false.
 */
bool all_to_all_once(struct all_to_all *t, const char *check, uint64_t bytes);

/* Measure all_to_all.correct. Returns the result of the sink. */
int all_to_all_verify(struct all_to_all *t);

/* Measure all_to_all.size_bw, and t->total for the largest size. Returns the sink's result. */
int all_to_all_rate(struct all_to_all *t);
