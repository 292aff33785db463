/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slowdown of each worker of a job as a heat map in a terminal, in the manner of `assay
 * explain`: each cell its number on a background, and a mark that says the same without
 * colours. A map larger than what is read at a glance has the slowest of several workers in a
 * cell.
 */
#pragma once

#include <jansson.h>

struct page;

enum {
	HEAT_ROWS_MAX = 32,    /* lines of a map */
	HEAT_COLUMNS_MAX = 64, /* cells of a line, if the terminal is as wide */
};

/*
 * Title, cells, legend and an empty line. `heat` is {rows, columns, row, column, values}, whose
 * values are rows of numbers or null; `suspects` are those of a job, told beside their row.
 * Nothing when no value is known. Both are a stranger's.
 */
void heat_show(const json_t *heat, const json_t *suspects, const struct page *page);
