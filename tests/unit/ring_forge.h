/* SPDX-License-Identifier: Apache-2.0 */
/* A ring in memory, as the plug-in writes it. */
#pragma once

#include <stdint.h>

#include "lib/ring/ring_layout.h"

#define FORGE_NOW_NS UINT64_C(50000000000000)

/* Words of RING_SIZE, aligned as a page. */
struct forge {
	_Alignas(RING_HEAD_SIZE) uint64_t words[RING_SIZE / 8];
};

/* Empty, of rank 1 of 4. */
void forge_init(struct forge *f);

struct ring_head *forge_head(struct forge *f);
struct ring_slot *forge_slot(struct forge *f, uint64_t number);

/* An operation that has ended, by the protocol; `next` is behind it then. All of it is of its number. */
void forge_put(struct forge *f, uint64_t number);
