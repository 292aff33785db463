/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-made reports for the tests of the judge. */
#pragma once

#include "lib/judge/verdict.h"
#include "lib/report/report.h"

/* An empty report of node "host1", seq 7, profile "quick". */
struct report report_make(void);

/*
 * Adds a measured sample, better=higher, and returns it for changes; valid until
 * the next is added. The unit follows from the check: FLOP/s for gemm., B/s
 * for any other _bw, s for _lat, else 1.
 */
struct sample *report_put(struct report *r, const char *check, const char *subject, double value);

/* Adds `n` samples of gemm.rate on cpu:0 ... */
void report_put_cores(struct report *r, const double *values, size_t n);

void report_put_problem(struct report *r, const char *probe, int code, const char *detail);

/* Returns the item of (check, subject), or NULL. */
const struct verdict_item *item_find(const struct verdict *v, const char *check,
				     const char *subject);

/* Returns its level, or -1 if there is none. */
int item_level(const struct verdict *v, const char *check, const char *subject);

/* Judges the report and returns the verdict, valid until the next call. */
const struct verdict *judged(const struct report *r, const struct judge_inputs *inputs);
void judged_done(void);
