/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sensitivity as text: a line per check and class with the smallest loss that is detected
 * ("-5.0 %, 3.9 GFLOP/s"), and what would make it more sensitive.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "lib/base/macro.h"

/* Print the object of sensitivity_host() in at most `width` columns. */
void show_sensitivity(const json_t *value, FILE *out, bool colour, unsigned width);
