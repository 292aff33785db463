/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A progress line on stderr for operations that take longer than two seconds: only on a terminal,
 * erased at the end.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct patience {
	const char *words; /* borrowed, clean: "sending 12 MiB"; may change */
	uint64_t since_us, next_us;
	bool wanted, shown;
};

/* Start the clock. */
struct patience patience_start(const char *words);

/* Redraw if due; for link_sending.tick. */
void patience_tick(void *patience);

/* Erase the line, if it was drawn. */
void patience_end(struct patience *patience);
