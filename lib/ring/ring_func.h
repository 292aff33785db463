/* SPDX-License-Identifier: Apache-2.0 */
/* Names of operations as NCCL gives them to profilers: "AllReduce". */
#pragma once

#include "lib/base/macro.h"
#include "lib/ring/ring_layout.h"

/* RING_OTHER is "Other". */
extern const char *const ring_func_names[RING_FUNCS];

/* The operation with this name; RING_OTHER for another one, or NULL. */
enum ring_func ring_func_find(const char *name);

/* True if it goes from one rank to another. */
static inline bool ring_func_is_p2p(unsigned func)
{
	return func == RING_SEND || func == RING_RECV;
}
