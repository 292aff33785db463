/* SPDX-License-Identifier: Apache-2.0 */
/* Names of operations, as NCCL says them to its profilers: "AllReduce". */
#pragma once

#include "lib/base/macro.h"
#include "lib/ring/ring_layout.h"

/* "Other" stands for RING_OTHER. */
extern const char *const ring_func_names[RING_FUNCS];

/* The operation of this name; RING_OTHER: another one, or NULL. */
enum ring_func ring_func_find(const char *name);

/* Does it go from one rank to one other? */
static inline bool ring_func_is_p2p(unsigned func)
{
	return func == RING_SEND || func == RING_RECV;
}
