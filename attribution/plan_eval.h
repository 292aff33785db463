/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to the planners, a JSON object a line, and an answer to each: a JSON object a line in
 * the same order. A line that is wrong is answered with {"error": ...}, which names file, line and
 * member; what cannot be had with {"feasible": false, "why": ...}.
 */
#pragma once

#include <stdio.h>

#include "lib/base/macro.h"

struct err;

enum {
	PLAN_EVAL_LINE_MAX = 1 << 22, /* bytes of a line */
	PLAN_EVAL_DIGITS = 15,	      /* significant ones of an answer */
};

/*
 * Answer all lines of `path` ("-": standard input) on `out`; empty ones are passed over. -EINVAL
 * when a line was wrong, once all are answered: the sentence is of the first. -EIO when `out`
 * cannot be written; else the errno of opening or reading.
 */
int plan_eval(const char *path, FILE *out, struct err *err);
