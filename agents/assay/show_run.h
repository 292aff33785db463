/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run for people: verdict first, worst first, what was expected and where
 * that came from, and at the end the sentence that names the culprit. Passing
 * items of one check are one line.
 */
#pragma once

#include <stdio.h>

#include "agents/run/exit_style.h"
#include "lib/base/macro.h"

struct host_parts;
struct report;
struct verdict;

/* Items of one check and one verdict that are shown one by one when not passing. */
enum { SHOW_ITEMS_MAX = 10 };

/*
 * Columns to show it in: of the terminal, or no limit where `out` goes into a
 * file or a pipe, so that nothing is cut before it is searched.
 */
unsigned show_width(FILE *out);

/*
 * Print the table in at most `width` columns; escape sequences only with `colour`. `parts` are what
 * the subjects are called.
 */
void show_run(const struct report *report, const struct verdict *verdict,
	      const struct host_parts *parts, FILE *out, bool colour, unsigned width);

/*
 * The one line that callers of the other styles want: "ASSAY CRITICAL - ..."
 * for Nagios, the sentence for NPD, "ERROR: assay: ..." for NHC, which gets
 * nothing unless something fails.
 */
void show_line(const struct verdict *verdict, enum exit_style style, FILE *out);
