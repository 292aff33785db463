/* SPDX-License-Identifier: Apache-2.0 */
/* A ring in memory, as the NCCL plug-in writes it. */
#pragma once

#include <stdint.h>

#include "lib/ring/ring_layout.h"

#define FORGE_NOW_NS UINT64_C(50000000000000)

/* RING_SIZE bytes, page-aligned. */
struct forge {
	_Alignas(RING_HEAD_SIZE) uint64_t words[RING_SIZE / 8];
};

/* Empty, of rank 1 of 4. */
void forge_init(struct forge *f);

struct ring_head *forge_head(struct forge *f);
struct ring_slot *forge_slot(struct forge *f, uint64_t number);

/* Writes a completed operation, following the protocol, and advances `next` past it. All its fields
 * are derived from `number`. */
void forge_put(struct forge *f, uint64_t number);
