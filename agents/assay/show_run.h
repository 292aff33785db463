/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as text: the verdict, then the items, worst first, with the expected value and where it
 * came from, and finally the sentence that names the faulty part. Passing items of one check
 * share a line.
 */
#pragma once

#include <stdio.h>

#include "agents/run/exit_style.h"
#include "lib/base/macro.h"

struct host_parts;
struct report;
struct verdict;

/* Items that do not pass are listed one by one, up to this many per check and verdict. */
enum { SHOW_ITEMS_MAX = 10 };

/*
 * Width to print in: that of the terminal, or unlimited if `out` is a file or a pipe, so that
 * nothing is truncated that somebody may search for.
 */
unsigned show_width(FILE *out);

/*
 * Print the table in at most `width` columns; escape sequences only with `colour`. `parts` has
 * the names of the subjects.
 */
void show_run(const struct report *report, const struct verdict *verdict,
	      const struct host_parts *parts, FILE *out, bool colour, unsigned width);

/*
 * The one line that the other styles expect: "ASSAY CRITICAL - ..." for Nagios, the sentence for
 * NPD, "ERROR: assay: ..." for NHC, which gets no output unless something fails.
 */
void show_line(const struct verdict *verdict, enum exit_style style, FILE *out);
