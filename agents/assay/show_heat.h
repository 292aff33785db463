/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices as heat maps in a terminal. Each cell shows its value, in one unit for the whole map,
 * on a background that stands for its ratio to the expected value; a mark after the number shows
 * the same without colours. Cells that were not measured have a word of their own. A map wider
 * than the terminal continues in further blocks of columns.
 */
#pragma once

#include <stdio.h>

#include "lib/base/macro.h"

struct heat;
struct heats;
struct host_parts;

/* `parts` has the names of the ends. */
void show_heat(const struct heat *heat, const struct host_parts *parts, FILE *out, bool colour,
	       unsigned width);

/* Explain the marks, colours and words of these maps. */
void show_heat_legend(const struct heats *heats, FILE *out, bool colour, unsigned width);
