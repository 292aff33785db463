/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/ring_forge.h"

#include <stddef.h>
#include <string.h>

struct ring_head *forge_head(struct forge *f)
{
	return (struct ring_head *)(void *)f->words;
}

struct ring_slot *forge_slot(struct forge *f, uint64_t number)
{
	const size_t at = RING_HEAD_SIZE + (size_t)(number % RING_SLOTS) * RING_SLOT_SIZE;

	return (struct ring_slot *)(void *)&f->words[at / 8];
}

void forge_init(struct forge *f)
{
	struct ring_head *h = forge_head(f);

	memset(f->words, 0, sizeof(f->words));
	h->magic = RING_MAGIC;
	h->version = RING_VERSION;
	h->head_size = RING_HEAD_SIZE;
	h->slot_size = RING_SLOT_SIZE;
	h->n_slots = RING_SLOTS;
	h->comm_id = UINT64_C(0x0a1b2c3d4e5f6071);
	h->n_nodes = 2;
	h->n_ranks = 4;
	h->rank = 1;
	h->api = 5;
	h->nccl = 22809;
	memcpy(h->name, "default_pg", sizeof("default_pg"));
}

static void store(uint64_t *to, const void *from, size_t words)
{
	uint64_t word;
	size_t i;

	for (i = 0; i < words; i++) {
		memcpy(&word, (const char *)from + 8 * i, 8);
		__atomic_store_n(&to[i], word, __ATOMIC_RELEASE);
	}
}

void forge_put(struct forge *f, uint64_t number)
{
	const uint64_t now_ns = FORGE_NOW_NS - 1000000 + number % 1000000;
	const struct ring_slot s = { .seq = number,
				     .count = number,
				     .enqueued_ns = now_ns,
				     .gpu_start_ns = number + 1,
				     .gpu_stop_ns = number + 2,
				     .host_start_ns = now_ns,
				     .host_stop_ns = now_ns,
				     .peer = -1,
				     .channels = 8,
				     .started = 8,
				     .stopped = 8,
				     .func = RING_ALL_REDUCE,
				     .flags = RING_DONE,
				     .element_size = 1,
				     .func_name = "AllReduce" };
	uint64_t *slot = (uint64_t *)(void *)forge_slot(f, number);
	uint64_t *next = &f->words[offsetof(struct ring_head, next) / 8];

	__atomic_store_n(&slot[0], 0, __ATOMIC_SEQ_CST);
	store(&slot[1], (const char *)&s + 8, sizeof(s) / 8 - 1);
	__atomic_store_n(&slot[0], number + 1, __ATOMIC_RELEASE);
	__atomic_store_n(next, number + 1, __ATOMIC_RELEASE);
}
