/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the launching thread runs: near the GPU, as ranks of jobs are bound (by NCCL and most
 * launchers), or as far from it as the host allows. Unbound, two runs would differ by where the
 * scheduler put the thread.
 */
#pragma once

#include <sched.h>

#include "probes/gemm/gemm.h"

enum gemm_side { GEMM_NEAR, GEMM_FAR };

struct gemm_place {
	cpu_set_t before; /* previous affinity of the thread */
	bool moved;
};

/*
 * Does the side exist? Near: the GPU's node is known, and this process may use cores of it. Far:
 * there is also another node with cores. Nodes of one socket have adjacent numbers, so the far node
 * is the one most distant by number.
 */
bool gemm_place_has(const struct gemm_device *d, enum gemm_side side);

/*
 * Is the side the same in every run? False on a host with several nodes if the GPU's node is
 * unknown (some virtual machines): its GPUs then differ by where the thread happened to run.
 */
bool gemm_place_is_sure(const struct gemm_device *d);

/* Bind this thread to the side, if it exists; gemm_place_leave() undoes it. */
void gemm_place_enter(const struct gemm_device *d, enum gemm_side side, struct gemm_place *ret);
void gemm_place_leave(const struct gemm_place *place);

/*
 * Add what makes launches of two hosts comparable: "cpus" (near, far, or any if the thread is not
 * bound) and the processor model.
 */
void gemm_place_params(const struct gemm_device *d, enum gemm_side side, json_t *params);
