/* SPDX-License-Identifier: Apache-2.0 */
/* Localised links as text: a table, then a sentence for each. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct host_parts;
struct localised;

void show_localised(const struct localised *l, const struct host_parts *parts, FILE *out,
		    bool colour, unsigned width);
