/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON object a line, read strictly: lib/json/jscan.h says what JSON is. */
#pragma once

#include <stddef.h>

struct err;
struct line_reader;
struct trace_op;

/*
 * Read the operation on a line without its end; leaves its shape, if it has one.
 * 1: it is in `ret_op`; -EINVAL with the reason.
 */
int line_read_optrace(struct line_reader *reader, const char *line, size_t length,
		      struct trace_op *ret_op, struct err *err);
