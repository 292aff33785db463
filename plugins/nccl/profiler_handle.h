/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handle of an event or communicator that NCCL stores and passes back to us; never a pointer.
 * Its 64 bits are enough to find the operation, and to notice that it is gone:
 *
 *	kind, 3 | communicator, 6 | its generation, 10 | channel, 7 | number of the operation, 38
 *
 * So there is no pool that could run out, and an event that is late, or from another process, or
 * for a closed communicator is recognised. Generations start at random, so that a handle of another
 * process (PXN) matches in one of a thousand cases; before that, those are recognised by their pid.
 */
#pragma once

#include <stdint.h>

enum {
	HANDLE_COMM_BITS = 6,
	HANDLE_GENERATION_BITS = 10,
	HANDLE_CHANNEL_BITS = 7,
	HANDLE_NUMBER_BITS = 38,
	HANDLE_COMMS = 1 << HANDLE_COMM_BITS,
	HANDLE_GENERATIONS = 1 << HANDLE_GENERATION_BITS,
};
#define HANDLE_NUMBER_MASK ((UINT64_C(1) << HANDLE_NUMBER_BITS) - 1)
#define HANDLE_CONTEXT_NUMBER \
	(UINT64_C(0x2e6e6f6374) & HANDLE_NUMBER_MASK) /* distinguishes a context */

_Static_assert(sizeof(void *) == sizeof(uint64_t), "handles need 64-bit pointers");

enum handle_kind {
	HANDLE_NONE,
	HANDLE_CONTEXT,
	HANDLE_GROUP,
	HANDLE_OP,
	HANDLE_CHANNEL,
	HANDLE_PROXY,
	HANDLE_STEP,
};

struct handle {
	enum handle_kind kind;
	uint32_t comm, generation, channel;
	uint64_t number;
};

static inline void *handle_pack(struct handle h)
{
	const uint64_t who = ((uint64_t)h.kind << HANDLE_COMM_BITS | h.comm)
				     << HANDLE_GENERATION_BITS |
			     h.generation;

	/* A pointer that is never dereferenced. */
	return (void *)(uintptr_t)((who << HANDLE_CHANNEL_BITS | h.channel) << HANDLE_NUMBER_BITS |
				   (h.number & HANDLE_NUMBER_MASK));
}

/* Accepts any pointer; if it is not ours, the members have arbitrary values within their bits. */
static inline struct handle handle_unpack(const void *p)
{
	const uint64_t bits = (uint64_t)(uintptr_t)p;
	const uint64_t channel = bits >> HANDLE_NUMBER_BITS,
		       generation = channel >> HANDLE_CHANNEL_BITS;
	const uint64_t comm = generation >> HANDLE_GENERATION_BITS;

	return (struct handle){
		.kind = (enum handle_kind)(comm >> HANDLE_COMM_BITS),
		.comm = (uint32_t)(comm & (HANDLE_COMMS - 1)),
		.generation = (uint32_t)(generation & (HANDLE_GENERATIONS - 1)),
		.channel = (uint32_t)(channel & ((1U << HANDLE_CHANNEL_BITS) - 1)),
		.number = bits & HANDLE_NUMBER_MASK,
	};
}
