/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary format of a row of usuals: 1; the fleet (`drift` and `slow` as 64-bit floats, `moved` as a
 * byte); then for each host by name: the name and a NUL, its trend, the number of parts (a byte),
 * and of each part its name (32 bits) and trend. A trend is the number of ratios (a byte) and their
 * logarithms (16 bits each), oldest first. Little-endian.
 */
#pragma once

#include <stddef.h>

struct self_baselines;
struct strbuf;

/* Encode for the next start. Returns -E2BIG if `out` is full. */
int self_baselines_encode(const struct self_baselines *u, struct strbuf *out);

/* Decode into empty ones; what follows a broken place is skipped, and learned again. */
void self_baselines_decode(struct self_baselines *u, const void *bytes, size_t length);
