/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the dump of a rank of a hung job as PyTorch's flight recorder does: the same opcodes,
 * memo, keys and layout (sources in hang_dump.h).
 */
#pragma once

#include "lib/base/strbuf.h"
#include "tests/hang/hang_world.h"

enum { HANG_WRITER_MAX = 1 << 22 };

/* Appends the pickle to `out`. */
void hang_writer_dump(const struct world *w, size_t rank, struct strbuf *out);

/* Appends the same dump in JSON: null is 0, numbers in pg_status are strings. */
void hang_writer_json(const struct world *w, size_t rank, struct strbuf *out);
