/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a burn (docs/burn.md) saw over time, a line a GPU and a mark a thirtieth of it: how much of
 * its first rate it kept, and how hot its memory was.
 */
#pragma once

#include <stdio.h>

#include "lib/base/macro.h"

struct host_parts;
struct sample_list;

/* Nothing where the samples are of no burn. `parts` are what GPUs are called. */
void show_burn(const struct sample_list *samples, const struct host_parts *parts, FILE *out,
	       bool colour, unsigned width);
