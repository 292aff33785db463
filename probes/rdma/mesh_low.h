/* SPDX-License-Identifier: Apache-2.0 */
/* What the quick set found: which cells are low, and which others would say why. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct mesh;

/*
 * Which of the measured cells are low: below MESH_LOW of what the capacities
 * say, or of the median of at least three measured ones of their kind (as parts of
 * that). `values` by cell, NAN where there is none. Returns how many.
 */
size_t mesh_low(const struct mesh *m, const double *values, bool *ret_low);

/*
 * How much measuring a cell would say about what made the low ones low, 0 for
 * nothing: the links of low cells that no faster cell clears.
 */
void mesh_weigh(const struct mesh *m, const double *values, const bool *low, double *ret_weight);
