/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's slowdown per worker as a heat map in a terminal, like `assay explain`: each cell has
 * its number on a background, and a mark that shows the same without colours. In a map too large
 * to read at a glance, a cell shows the slowest of several workers.
 */
#pragma once

#include <jansson.h>

struct page;

enum {
	HEAT_ROWS_MAX = 32,    /* lines per map */
	HEAT_COLUMNS_MAX = 64, /* cells per line, if the terminal is wide enough */
};

/*
 * Print title, cells, legend and an empty line. `heat` is {rows, columns, row, column, values},
 * where values are rows of numbers or null; `suspects` are the job's, shown beside their row.
 * Prints nothing if no value is known. Both are untrusted.
 */
void heat_show(const json_t *heat, const json_t *suspects, const struct page *page);
