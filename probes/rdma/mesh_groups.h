/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells at once. One port cannot fill a memory controller, nor an uplink that
 * is wider than itself: what such a link lost is not seen until several ports
 * ask for it together.
 */
#pragma once

struct mesh;
struct mesh_set;
struct mesh_sets;

/*
 * Groups, memories first; of links that enough of the cells cross. No cell is in
 * two groups of one size.
 */
void mesh_groups(const struct mesh *m, struct mesh_sets *ret);

/* What each cell of a group should get: max-min fair shares of the links. */
void mesh_shares(const struct mesh *m, const struct mesh_set *group, double *ret_rates);
