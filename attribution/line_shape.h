/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands between the values of a line: `{"step":`, `,"stage":`, ... `}`.
 * A line of the same shape is compared eight bytes at a time and its values are
 * read on the way.
 */
#pragma once

#include <stdint.h>

#include "attribution/trace.h"
#include "lib/base/macro.h"

/* The values of a line: those of struct trace_op, in whatever order. */
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
	FIELD_OTHER = FIELD_N, /* a value that nobody asked for */
	FIELD_END,	       /* none: the line is at its end */
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
	SHAPE_READ_AHEAD = 64, /* bytes behind a line that can be read */
};

/* The names of operations, made for comparing. */
struct line_names {
	struct {
		uint64_t words[SHAPE_WORDS], masks[SHAPE_WORDS];
	} names[OPTYPE_N];
	int by_length[SHAPE_TEXT_MAX + 1][2]; /* no three are as long as each other; -1: none */
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
 * Add the text before the next value; the last one, with FIELD_END, is what stands
 * behind the last value. False: there is no such shape, and it is emptied.
 */
bool line_shape_add(struct line_shape *shape, const char *text, size_t length, int field);

/*
 * Read a line of this shape at `at` into `op`; returns where its newline is, or
 * NULL when it is not of this shape or has a value that is not as usual. A value is
 * what the strict readers find, or NULL is returned.
 */
const char *line_shape_read(const struct line_shape *shape, const struct line_names *names,
			    const char *at, struct trace_op *op);
