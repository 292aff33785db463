/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usuals as the bytes of a row: 1; where the fleet is (`drift` and `slow` as 64-bit floats, `moved`
 * as a byte); then of each host by name: the name and a NUL, its trend, how many parts (a
 * byte), and of each part its name (32 bits) and trend. A trend is how many ratios (a byte) and
 * their logarithms (16 bits each), oldest first. Least byte first.
 */
#pragma once

#include <stddef.h>

struct self_baselines;
struct strbuf;

/* As bytes that are read again after a restart; -E2BIG when `out` takes no more. */
int self_baselines_encode(const struct self_baselines *u, struct strbuf *out);

/* Into empty ones; what is broken, and all after it, is left out: it is taught again. */
void self_baselines_decode(struct self_baselines *u, const void *bytes, size_t length);
