/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quick set. A fault is a link and what is left of it, at most MESH_RESIDUAL of its capacity.
 * Faults of one link that limit the same cells are one fault. All faults, and "no fault", start in
 * one class; a chosen cell splits each class into faults that limit it and faults that do not. As
 * in greedy separating sets, the next cell is the one that separates most pairs of faults of
 * different links, until none separates any more. Cells that turned out to be redundant are then
 * dropped.
 */
#pragma once

struct mesh;
struct mesh_set;

/*
 * Choose a few cells that detect and distinguish faults, the most informative first. Each port and
 * each memory is in at least one.
 */
void mesh_quick(const struct mesh *m, struct mesh_set *ret);
