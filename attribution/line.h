/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses one operation from one line of a trace: JSON of optrace/1, or the fields of a CSV whose
 * first line names the columns.
 *
 * Lines of a trace are alike. The text between the values of the previous line is kept as a shape
 * (line_shape.h), and of a line with the same shape only the values are parsed. Any other line
 * goes to the strict parsers, whose result never depends on previous lines, and which report
 * errors.
 */
#pragma once

#include "attribution/line_shape.h"
#include "attribution/trace.h"
#include "lib/base/pool.h"
#include "lib/json/jscan.h"

struct err;

enum {
	LINE_MAX_BYTES = 64 * 1024, /* per operation */
	LINE_PADDING = SHAPE_READ_AHEAD,
	LINE_COLUMNS_MAX = 64,
};

enum line_format { LINE_OPTRACE, LINE_CSV };

/* How to parse the lines of a file. Shared by threads. */
struct line_style {
	int format; /* enum line_format */
	struct line_names names;
	int columns[LINE_COLUMNS_MAX]; /* enum line_field of each CSV column */
	size_t n_columns;
};

/* Per-thread parser state. Initialize to zero. */
struct line_reader {
	const struct line_style *style; /* borrowed */
	struct line_shape shape;
	struct pool pool;
};

/* Set the style for optrace/1. */
void line_style_optrace(struct line_style *style);

/*
 * Parse the line at `*at`, which ends with a newline, and advance `*at` past it. 1: stored in
 * `ret_op`; 0: empty line; -EINVAL with the reason. LINE_PADDING bytes after the block must be
 * readable.
 */
int line_read(struct line_reader *reader, const char **at, struct trace_op *ret_op, struct err *err);

void line_reader_release(struct line_reader *reader);
