/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bar on standard error for input that takes longer than two seconds. Only on a
 * terminal, and gone when it is done.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct progress {
	const char *what; /* borrowed: the name of the input */
	bool wanted, shown;
	uint64_t next_us; /* when it is drawn next */
};

enum { PROGRESS_SIZE = 160 };

/* The clock starts. */
struct progress progress_start(const char *what);

/* So far; `size` is 0 when nobody knows it. Draws when it is time. */
void progress_tell(struct progress *progress, uint64_t done, uint64_t size, uint64_t operations);

/* Clear the line, if anything was drawn. */
void progress_end(struct progress *progress);

/* What is drawn on `width` columns, without moving the cursor. */
void progress_text(const struct progress *progress, uint64_t done, uint64_t size,
		   uint64_t operations, unsigned width, char ret_text[static PROGRESS_SIZE]);
