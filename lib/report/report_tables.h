/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a report and of what is in it: one table encodes, decodes and reads. */
#pragma once

#include "lib/json/json.h"

struct err;
struct jmemo;
struct report;
struct sample;

struct jtable {
	const struct jfield *fields;
	size_t n;
};

extern const struct jtable report_table; /* struct report, without kind, version and lists */
extern const struct jtable sample_table;
extern const struct jtable problem_table;

enum { PROBLEMS_MAX = 256 };

/* What a table cannot say of a sample. -EINVAL with a sentence without a place. */
int sample_check(const struct sample *s, struct err *err);

/*
 * The quick half of report_read(): 0 or -EINVAL, which says neither what is wrong
 * nor where. On failure `ret` is left alone.
 */
int report_scan(const char *text, size_t length, struct jmemo *memo, struct report *ret);
