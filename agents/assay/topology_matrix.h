/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How close the GPUs and RNICs of a host are to each other, as a matrix with the abbreviations of
 * `nvidia-smi topo -m` (PIX, PXB, PHB, NODE, SYS), and one sentence about each GPU's nearest RNIC:
 *
 *		GPU0  GPU1  mlx5_0  NUMA
 *	GPU0	 X    PIX   PIX	     0
 *
 * GPUs are numbered by PCI address. NVLinks are not in a topology: gpu-state reports them.
 */
#pragma once

#include <stdio.h>

#include "lib/base/macro.h"

struct topology;

void topology_matrix(const struct topology *t, bool colour, FILE *out);
