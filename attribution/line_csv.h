/* SPDX-License-Identifier: Apache-2.0 */
/* CSV without quotes: none of our fields can contain a comma. */
#pragma once

#include <stddef.h>

struct err;
struct line_reader;
struct line_style;
struct trace_op;

/* Parse the column names in the first line of a CSV. -EINVAL. */
int line_style_csv(struct line_style *style, const char *line, size_t length, struct err *err);

/*
 * Parse a line, without its newline, strictly; stores its shape if it has one. 1: stored in
 * `ret_op`; -EINVAL with the reason.
 */
int line_read_csv(struct line_reader *reader, const char *line, size_t length,
		  struct trace_op *ret_op, struct err *err);
