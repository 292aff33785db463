/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight bytes of text in one word, the first in the lowest byte on every machine. (SIMD within a
 * register: L. Lamport, Multiple byte processing with full-word instructions, 1975.)
 */
#pragma once

#include <endian.h>
#include <stdint.h>
#include <string.h>

enum { SWAR_BYTES = 8 };

/* The byte, repeated eight times. */
#define SWAR_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

static inline uint64_t swar_load(const char *at)
{
	uint64_t bytes;

	memcpy(&bytes, at, sizeof(bytes));
	return le64toh(bytes);
}
