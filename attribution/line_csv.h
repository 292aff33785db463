/* SPDX-License-Identifier: Apache-2.0 */
/* Fields between commas, without quotes: none of ours can hold a comma. */
#pragma once

#include <stddef.h>

struct err;
struct line_reader;
struct line_style;
struct trace_op;

/* The columns that the first line of a CSV names. -EINVAL. */
int line_style_csv(struct line_style *style, const char *line, size_t length, struct err *err);

/*
 * Read the operation on a line without its end, strictly; leaves its shape, if it has one.
 * 1: it is in `ret_op`; -EINVAL with the reason.
 */
int line_read_csv(struct line_reader *reader, const char *line, size_t length,
		  struct trace_op *ret_op, struct err *err);
