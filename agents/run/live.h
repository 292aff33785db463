/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live line: while probes run, one line on a terminal says which one and how long it still
 * takes. It is rewritten in place and erased at the end. Never writes if `out` is not a terminal.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "agents/run/runner.h"
#include "lib/base/macro.h"

struct live {
	FILE *out; /* NULL: not a terminal, print nothing */
	bool shown;
	uint64_t shown_us; /* monotonic, when it was last written */
	size_t done;	   /* probes done at that time */
	char probe[64];
};

/* `out` is borrowed, usually stderr. */
void live_init(struct live *live, FILE *out);

/* For struct runner_options: `context` is the struct live. At most 10 writes a second. */
void live_progress(void *context, const struct runner_progress *p);

/* Write the line for `p` into `text`, at most `width` columns. */
void live_line(const struct runner_progress *p, char *text, size_t size, unsigned width);

/* Erase the line. */
void live_end(struct live *live);
