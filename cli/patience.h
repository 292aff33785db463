/* SPDX-License-Identifier: Apache-2.0 */
/* A line on standard error for what takes longer than two seconds: only on a terminal, and gone
 * afterwards. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct patience {
	const char *words; /* borrowed, clean: "sending 12 MiB"; may change on the way */
	uint64_t since_us, next_us;
	bool wanted, shown;
};

/* The clock starts. */
struct patience patience_start(const char *words);

/* Draws when it is time; for link_sending.tick. */
void patience_tick(void *patience);

/* Clear the line, if anything was drawn. */
void patience_end(struct patience *patience);
