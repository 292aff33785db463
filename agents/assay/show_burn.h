/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A burn (docs/burn.md) over time: a line per GPU with 30 marks, for the share of its initial
 * rate that it kept and its memory temperature.
 */
#pragma once

#include <stdio.h>

#include "lib/base/macro.h"

struct host_parts;
struct sample_list;

/* Prints nothing if the samples are not from a burn. `parts` has the names of the GPUs. */
void show_burn(const struct sample_list *samples, const struct host_parts *parts, FILE *out,
	       bool colour, unsigned width);
