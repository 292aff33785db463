/* SPDX-License-Identifier: Apache-2.0 */
/* How long a pair may take. Pure; who meets whom is lib/base/circle.h. */
#pragma once

#include <stdint.h>

/*
 * How long a measurement of `us` may take on a slow fabric when `left_us` of the budget are left:
 * a path that went dead is waited for after that (FLOW_DRAIN_US), and the sample must still be told.
 */
uint64_t pair_patience_us(uint64_t us, uint64_t left_us);
