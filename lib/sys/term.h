/* SPDX-License-Identifier: Apache-2.0 */
/* What people see: colours only on a terminal, numbers with units, widths. */
#pragma once

#include <stdio.h>

#include "lib/base/macro.h"

struct err;

enum paint { PAINT_GOOD, PAINT_WARN, PAINT_BAD, PAINT_UNSURE, PAINT_DIM, PAINT_BOLD };

/* True when `out` is a terminal that takes colours and NO_COLOR is not set. */
bool term_wants_colour(FILE *out);

/* The escape sequence that starts `paint`, or ends any; "" when !colour. Static. */
const char *paint_on(bool colour, enum paint paint);
const char *paint_off(bool colour);

/* Columns of the terminal `out`; when it is none $COLUMNS, else 100. */
unsigned term_width(FILE *out);

/* Rows of the terminal `out`; 24 when it is none. */
unsigned term_height(FILE *out);

/*
 * Has the reader of the pipe `out` gone, as `head` does when it has seen enough? What cannot be
 * written then is no failure: nobody wants it.
 */
bool term_unread(FILE *out);

enum { NUMBER_SIZE = 32 };

/*
 * A value for people in `unit` of a sample, three significant digits: "24.9
 * GB/s" (powers of ten), "1.2 us", "79.1 GFLOP/s"; of unit "1" four, and counts
 * whole: "0.97", "196608". "-" for NAN.
 */
void number_format(double value, const char *unit, char ret_text[static NUMBER_SIZE]);

/* What number_format() divides a value like `like` by, and the prefix for it: 1e9 and "G". */
double number_scale(double like, const char **ret_prefix);

enum output { OUTPUT_TABLE, OUTPUT_JSON, OUTPUT_KV };

/* "table", "json" or "kv". -EINVAL. */
int output_parse(const char *text, enum output *ret);

/* The same of a command's option -o. -EINVAL with the sentence. */
int output_option(const char *arg, enum output *ret, struct err *err);
