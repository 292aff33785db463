/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text table for people: columns as wide as their content, made to fit a
 * terminal by cutting those that may be cut, from the last, then by leaving out
 * those that may be left out, whose room goes to those that were cut. A row may carry a note,
 * wrapped below it.
 *
 * Cell text may come from strangers: what could drive a terminal or mislead a
 * reader is shown as '?' (utf8.h).
 */
#pragma once

#include <stdio.h>

#include "lib/base/macro.h"
#include "lib/sys/term.h"

enum { TABLE_COLUMNS_MAX = 8, TABLE_NONE = -1 };

struct table_column {
	const char *head;
	bool right;	/* numbers stand right */
	unsigned min;	/* may be cut to this many columns; 0: never cut */
	bool wrap;	/* when it is the last: goes on below instead of being cut */
	unsigned leave; /* left out in this order (1 first) when cutting is not enough; 0: never */
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

/* A new row at the end, all empty; valid until the next is added. */
struct table_row *table_add(struct table *t);

/*
 * Print the heads and the rows in at most `width` columns (UINT_MAX: as wide as
 * they are). False when something did not fit as it is.
 */
bool table_print(const struct table *t, FILE *out, bool colour, unsigned width);

void table_release(struct table *t);

/* Print `text` in lines of at most `width` columns, each after `indent` spaces. */
void text_wrap(const char *text, FILE *out, unsigned indent, unsigned width);

/* Columns of a terminal that `text` takes. */
size_t text_columns(const char *text);
