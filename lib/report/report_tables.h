/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a report and its parts: the same tables encode, decode and read them. */
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

/* Checks of a sample that a table cannot express. -EINVAL with a sentence, without a place. */
int sample_check(const struct sample *s, struct err *err);

/*
 * The fast half of report_read(): 0, or -EINVAL without what is wrong or where. Leaves `ret` alone
 * on failure.
 */
int report_scan(const char *text, size_t length, struct jmemo *memo, struct report *ret);
