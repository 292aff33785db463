/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sensitivity for people: one line a check and class, "-5.0 %, 3.9 GFLOP/s"
 * for a loss that is seen, and what would make it see more.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "lib/base/macro.h"

/* Print the object of sensitivity_host() in at most `width` columns. */
void show_sensitivity(const json_t *value, FILE *out, bool colour, unsigned width);
