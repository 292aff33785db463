/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells measured at once. One port cannot fill a memory controller, nor an uplink wider than
 * itself, so a loss of such a link only shows when several ports use it together.
 */
#pragma once

struct mesh;
struct mesh_set;
struct mesh_sets;

/*
 * Choose groups for the links that enough cells cross, memories first. No cell is in two groups of
 * the same size.
 */
void mesh_groups(const struct mesh *m, struct mesh_sets *ret);

/* The rate that each cell of a group should get: max-min fair shares of the links. */
void mesh_shares(const struct mesh *m, const struct mesh_set *group, double *ret_rates);
