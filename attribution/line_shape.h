/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text between the values of a line: `{"step":`, `,"stage":`, ... `}`. A line of the same
 * shape is compared eight bytes at a time, and its values are parsed on the way.
 */
#pragma once

#include <stdint.h>

#include "attribution/trace.h"
#include "lib/base/macro.h"

/* The values of a line: the members of struct trace_op, in any order. */
enum line_field {
	FIELD_STEP,
	FIELD_DP_RANK,
	FIELD_STAGE,
	FIELD_SEQ_ID,
	FIELD_RANK,
	FIELD_MB_ID,
	FIELD_MC,
	FIELD_GMC,
	FIELD_OPTYPE,
	FIELD_START,
	FIELD_DURATION,
	FIELD_N,
	FIELD_OTHER = FIELD_N, /* a value that is not needed */
	FIELD_END,	       /* no value: end of line */
};

struct line_field_info {
	const char *name;
	size_t offset; /* in struct trace_op */
	bool needed;
};
extern const struct line_field_info line_fields[FIELD_N];

enum {
	SHAPE_WORDS = 4,
	SHAPE_TEXT_MAX = SHAPE_WORDS * 8,
	SHAPE_VALUES_MAX = 24,
	SHAPE_READ_AHEAD = 64, /* bytes after a line that must be readable */
};

/* Operation names, prepared for fast comparison. */
struct line_names {
	struct {
		uint64_t words[SHAPE_WORDS], masks[SHAPE_WORDS];
	} names[OPTYPE_N];
	int by_length[SHAPE_TEXT_MAX + 1][2]; /* at most two names have the same length; -1: none */
};
void line_names_fill(struct line_names *names);

struct line_shape {
	unsigned n; /* parts; 0: no shape */
	bool csv;
	struct {
		uint64_t words[SHAPE_WORDS], masks[SHAPE_WORDS]; /* the text before the value */
		uint32_t length;
		int field; /* enum line_field */
	} parts[SHAPE_VALUES_MAX + 1];
};

/*
 * Append the text before the next value; the last one, with FIELD_END, is the text after the last
 * value. False: it does not fit, and the shape is cleared.
 */
bool line_shape_add(struct line_shape *shape, const char *text, size_t length, int field);

/*
 * Parse a line of this shape at `at` into `op`. Returns its newline, or NULL if it has another
 * shape or an unusual value. Values are identical to those of the strict parsers.
 */
const char *line_shape_read(const struct line_shape *shape, const struct line_names *names,
			    const char *at, struct trace_op *op);
