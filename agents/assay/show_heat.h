/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices as heat maps in a terminal: each cell its number, in one unit for the
 * whole map, on a background for its ratio to what it should reach; the mark
 * behind the number says the same without colours. What was not measured has a
 * word of its own. A map wider than the terminal goes on in blocks of columns.
 */
#pragma once

#include <stdio.h>

#include "lib/base/macro.h"

struct heat;
struct heats;
struct host_parts;

/* `parts` are what the ends are called. */
void show_heat(const struct heat *heat, const struct host_parts *parts, FILE *out, bool colour,
	       unsigned width);

/* What the marks, colours and words of these maps mean. */
void show_heat_legend(const struct heats *heats, FILE *out, bool colour, unsigned width);
