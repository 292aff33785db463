/* SPDX-License-Identifier: Apache-2.0 */
/* What outlook.h finds, for people. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* A table, and a line for each way that is left out. */
void outlook_show(const json_t *doc, FILE *out, bool colour, unsigned width);
