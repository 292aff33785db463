/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text table for people: columns are as wide as their content, and made to fit a terminal by
 * truncating columns that permit it, from the last, then by omitting those that permit it, whose
 * room goes to the truncated ones. A row may have a note, wrapped below it.
 *
 * Cell text may be untrusted: what could control a terminal or mislead a reader is shown as '?'
 * (utf8.h).
 */
#pragma once

#include <stdio.h>

#include "lib/base/macro.h"
#include "lib/sys/term.h"

enum { TABLE_COLUMNS_MAX = 8, TABLE_NONE = -1 };

struct table_column {
	const char *head;
	bool right;	/* right-aligned: numbers */
	unsigned min;	/* may be truncated to this width; 0: never */
	bool wrap;	/* if it is the last: wraps instead of being truncated */
	unsigned leave; /* omitted in this order (1 first) if truncation is not enough; 0: never */
};

struct table_row {
	char *cells[TABLE_COLUMNS_MAX]; /* owned; NULL is empty */
	char *note;			/* owned, or NULL */
	int paint;			/* enum paint of the first cell, or TABLE_NONE */
};

struct table {
	const struct table_column *columns; /* borrowed */
	size_t n_columns;
	struct table_row *rows; /* owned */
	size_t n_rows;
};

/* A new, empty row at the end; valid until the next one is added. */
struct table_row *table_add(struct table *t);

/*
 * Prints the heads and the rows in at most `width` columns (UINT_MAX: unlimited). Returns false if
 * something did not fit unchanged.
 */
bool table_print(const struct table *t, FILE *out, bool colour, unsigned width);

void table_release(struct table *t);

/* Prints `text` in lines of at most `width` columns, each after `indent` spaces. */
void text_wrap(const char *text, FILE *out, unsigned indent, unsigned width);

/* Terminal columns that `text` takes. */
size_t text_columns(const char *text);
