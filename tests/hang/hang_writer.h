/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dump of a rank of a world that hangs, as PyTorch's flight recorder writes it: the same
 * opcodes, memo, keys and layout (hang_dump.h has the sources).
 */
#pragma once

#include "lib/base/strbuf.h"
#include "tests/hang/hang_world.h"

enum { HANG_WRITER_MAX = 1 << 22 };

/* Append the pickle to `out`. */
void hang_writer_dump(const struct world *w, size_t rank, struct strbuf *out);

/* Append the twin in JSON: null is 0, numbers of pg_status are texts. */
void hang_writer_json(const struct world *w, size_t rank, struct strbuf *out);
