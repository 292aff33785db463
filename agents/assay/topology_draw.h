/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A topology drawn as a tree: NUMA nodes, below them root ports, switches and devices, each with
 * the speed of its link, marked if that is below what both ends support; then one sentence.
 *
 *	NUMA node 0
 *	`- root port 0000:15:01.0
 *	   `- switch 0000:16:00.0              Gen5 x8, 31.5 GB/s  SLOW: can do Gen5 x16, 63.0 GB/s
 *	      |- RNIC mlx5_0 0000:18:00.0      Gen5 x16, 63.0 GB/s
 */
#pragma once

#include <stdio.h>

#include "lib/base/macro.h"

struct topology;

struct topology_draw {
	bool colour;
	bool utf8; /* draw the tree with box characters, else ASCII */
};

/*
 * A GPU's own link at full width and reduced speed is shown as idle, not slow: GPUs lower the
 * speed of an idle link (lib/topology/topology.h, digest).
 */
void topology_draw(const struct topology *t, const struct topology_draw *how, FILE *out);

/* The sentence that ends the drawing, without a newline. The caller frees it. */
char *topology_sentence(const struct topology *t);
