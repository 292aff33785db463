/* SPDX-License-Identifier: Apache-2.0 */
/* How long a pair may take. Pure; lib/base/circle.h schedules which ports meet when. */
#pragma once

#include <stdint.h>

/*
 * How long a measurement of nominally `us` may take on a slow fabric, with `left_us` of the budget
 * left. Keeps time to wait for a path that went dead (FLOW_DRAIN_US) and to report the sample.
 */
uint64_t pair_patience_us(uint64_t us, uint64_t left_us);
