/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One operation from one line of a trace: JSON as optrace/1 has it, or the fields
 * of a CSV whose first line names the columns.
 *
 * Lines of a trace look alike. What stood between the values of the line before is
 * kept as a shape (line_shape.h), and a line that has the same needs nothing but
 * its numbers read. Every other line is read by the strict readers, which take what
 * they take whatever came before, and say what is wrong.
 */
#pragma once

#include "attribution/line_shape.h"
#include "attribution/trace.h"
#include "lib/base/pool.h"
#include "lib/json/jscan.h"

struct err;

enum {
	LINE_MAX_BYTES = 64 * 1024, /* of an operation */
	LINE_PADDING = SHAPE_READ_AHEAD,
	LINE_COLUMNS_MAX = 64,
};

enum line_format { LINE_OPTRACE, LINE_CSV };

/* How the lines of a file are to be read. Shared by threads. */
struct line_style {
	int format; /* enum line_format */
	struct line_names names;
	int columns[LINE_COLUMNS_MAX]; /* of CSV: enum line_field */
	size_t n_columns;
};

/* What one thread knows of its lines. Zeroes know nothing. */
struct line_reader {
	const struct line_style *style; /* borrowed */
	struct line_shape shape;
	struct pool pool;
};

/* optrace/1. */
void line_style_optrace(struct line_style *style);

/*
 * Read the operation on the line at `*at`, which ends with a newline, and move
 * behind it. 1: it is in `ret_op`; 0: the line is empty; -EINVAL with the reason.
 * LINE_PADDING bytes behind the block can be read.
 */
int line_read(struct line_reader *reader, const char **at, struct trace_op *ret_op, struct err *err);

void line_reader_release(struct line_reader *reader);
