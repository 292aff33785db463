/* SPDX-License-Identifier: Apache-2.0 */
/* Interprets the quick set: which cells are low, and which other cells would explain why. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct mesh;

/*
 * Find the measured cells that are low: below MESH_LOW of what the capacities allow, or, where at
 * least three cells of the same kind were measured, of what their median fraction of that suggests.
 * `values` is indexed by cell, NAN if not measured. Returns the number of low cells.
 */
size_t mesh_low(const struct mesh *m, const double *values, bool *ret_low);

/*
 * How much measuring each cell would tell about the cause of the low ones; 0 is nothing. It counts
 * links of low cells that no faster cell clears.
 */
void mesh_weigh(const struct mesh *m, const double *values, const bool *low, double *ret_weight);
