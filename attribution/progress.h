/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A progress bar on stderr for input that takes longer than two seconds. Only on a terminal, and
 * erased at the end.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct progress {
	const char *what; /* borrowed: the name of the input */
	bool wanted, shown;
	uint64_t next_us; /* when to redraw */
};

enum { PROGRESS_SIZE = 160 };

/* Start the clock. */
struct progress progress_start(const char *what);

/* Update; `size` is 0 if unknown. Redraws if due. */
void progress_tell(struct progress *progress, uint64_t done, uint64_t size, uint64_t operations);

/* Erase the bar, if it was drawn. */
void progress_end(struct progress *progress);

/* Text of the bar for `width` columns, without cursor movement. */
void progress_text(const struct progress *progress, uint64_t done, uint64_t size,
		   uint64_t operations, unsigned width, char ret_text[static PROGRESS_SIZE]);
