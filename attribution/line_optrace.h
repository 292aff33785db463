/* SPDX-License-Identifier: Apache-2.0 */
/* Strict parser of one JSON object per line; lib/json/jscan.h defines the JSON accepted. */
#pragma once

#include <stddef.h>

struct err;
struct line_reader;
struct trace_op;

/*
 * Parse a line, without its newline; stores its shape if it has one. 1: stored in `ret_op`;
 * -EINVAL with the reason.
 */
int line_read_optrace(struct line_reader *reader, const char *line, size_t length,
		      struct trace_op *ret_op, struct err *err);
