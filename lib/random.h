/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers nobody can guess or repeat: for jitter. Pure code takes them as a parameter. */
#pragma once

#include <stdint.h>

#include "lib/macro.h"

/* 64 random bits (getrandom(2)). */
uint64_t random_u64(void);
