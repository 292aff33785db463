/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the result of outlook.h. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* A table, and a line for each remedy that is left out. */
void outlook_show(const json_t *doc, FILE *out, bool colour, unsigned width);
