/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the thread that launches runs: near the GPU, as a rank of a job is bound (NCCL and most
 * launchers do), or as far from it as the host lets it. Unbound, two runs differ by where the
 * scheduler put the thread.
 */
#pragma once

#include <sched.h>

#include "probes/gemm/gemm.h"

enum gemm_side { GEMM_NEAR, GEMM_FAR };

struct gemm_place {
	cpu_set_t before; /* of the thread */
	bool moved;
};

/*
 * Is there such a side? Near: the GPU's node is known and this process may use cores of it; far:
 * near, and another node with cores. Nodes of one socket have numbers next to each other, so the
 * far one is at the other end of them.
 */
bool gemm_place_has(const struct gemm_device *d, enum gemm_side side);

/*
 * Is it always the same side, wherever the thread is? False on a host of several nodes where the
 * GPU's is not known (some virtual machines): its GPUs then differ by where the thread was.
 */
bool gemm_place_is_sure(const struct gemm_device *d);

/* Bind this thread there, where that is; gemm_place_leave() undoes it. */
void gemm_place_enter(const struct gemm_device *d, enum gemm_side side, struct gemm_place *ret);
void gemm_place_leave(const struct gemm_place *place);

/*
 * Add what makes launches of two hosts comparable: "cpus", which is near, far, or any where the
 * thread is bound nowhere, and the model of the processor.
 */
void gemm_place_params(const struct gemm_device *d, enum gemm_side side, json_t *params);
