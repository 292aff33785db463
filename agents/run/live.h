/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live line: while probes run, one line on a terminal that says which one
 * and how long still, rewritten in place and erased at the end. Where `out` is
 * no terminal it never writes a byte.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "agents/run/runner.h"
#include "lib/base/macro.h"

struct live {
	FILE *out; /* NULL: not a terminal, silent */
	bool shown;
	uint64_t shown_us; /* monotonic, when it was last written */
	size_t done;	   /* what it said then */
	char probe[64];
};

/* `out` is borrowed, stderr as a rule. */
void live_init(struct live *live, FILE *out);

/* For struct runner_options: `context` is the struct live. At most 10 writes a second. */
void live_progress(void *context, const struct runner_progress *p);

/* Write the line for `p` into `text`, at most `width` columns. */
void live_line(const struct runner_progress *p, char *text, size_t size, unsigned width);

/* Erase the line. */
void live_end(struct live *live);
