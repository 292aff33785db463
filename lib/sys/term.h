/* SPDX-License-Identifier: Apache-2.0 */
/* Output for people: colours only on a terminal, numbers with units, widths. */
#pragma once

#include <stdio.h>

#include "lib/base/macro.h"

struct err;

enum paint { PAINT_GOOD, PAINT_WARN, PAINT_BAD, PAINT_UNSURE, PAINT_DIM, PAINT_BOLD };

/* True if `out` is a terminal with colours and NO_COLOR is not set. */
bool term_wants_colour(FILE *out);

/* The escape sequence that starts `paint`, or ends any; "" if !colour. Static. */
const char *paint_on(bool colour, enum paint paint);
const char *paint_off(bool colour);

/* Columns of the terminal `out`; $COLUMNS, or else 100, if it is not one. */
unsigned term_width(FILE *out);

/* Rows of the terminal `out`; 24 if it is not one. */
unsigned term_height(FILE *out);

/*
 * True if the reader of the pipe `out` is gone, like `head` when it has seen enough. Failing to
 * write then is no error: nobody wants it.
 */
bool term_unread(FILE *out);

enum { NUMBER_SIZE = 32 };

/*
 * A value for people in the unit of a sample, with three significant digits: "24.9 GB/s" (powers of
 * ten), "1.2 us", "79.1 GFLOP/s"; four for unit "1", and integers in full: "0.97", "196608". "-"
 * for NAN.
 */
void number_format(double value, const char *unit, char ret_text[static NUMBER_SIZE]);

/* The divisor that number_format() uses for a value like `like`, and its prefix: 1e9 and "G". */
double number_scale(double like, const char **ret_prefix);

enum output { OUTPUT_TABLE, OUTPUT_JSON, OUTPUT_KV };

/* "table", "json" or "kv". -EINVAL. */
int output_parse(const char *text, enum output *ret);

/* The same for a command's option -o. -EINVAL with a message. */
int output_option(const char *arg, enum output *ret, struct err *err);
