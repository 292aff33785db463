/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quick set. A fault is a link and what is left of it, at most MESH_RESIDUAL
 * of its capacity. Faults of one link that limit the same cells are one. All of
 * them and "no fault" begin as one class; a chosen cell parts each class into
 * those that limit it and those that do not. Cells are chosen while they part
 * anything that is not of the same link, the one that parts most pairs first, as
 * greedy separating sets are; then those that turned out to be needless go.
 */
#pragma once

struct mesh;
struct mesh_set;

/* Few cells that detect and tell apart, the most telling first; each port and memory in one. */
void mesh_quick(const struct mesh *m, struct mesh_set *ret);
