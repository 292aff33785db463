/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers planner queries: one JSON object per line, in and out, in the same order. The answer to
 * an invalid line is {"error": ...}, naming file, line and member; an impossible request gets
 * {"feasible": false, "why": ...}.
 */
#pragma once

#include <stdio.h>

#include "lib/base/macro.h"

struct err;

enum {
	PLAN_EVAL_LINE_MAX = 1 << 22, /* bytes of a line */
	PLAN_EVAL_DIGITS = 15,	      /* significant digits of answers */
};

/*
 * Answer all lines of `path` ("-": stdin) on `out`, skipping empty ones. -EINVAL, with the
 * message of the first, if any line was invalid, after answering all. -EIO if `out` cannot be
 * written; else the errno of opening or reading.
 */
int plan_eval(const char *path, FILE *out, struct err *err);
