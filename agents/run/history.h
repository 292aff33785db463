/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $STATE/history.jsonl: this host's earlier values, one line per run, as a reference for the
 * judge. Bounded: when it is full, the older half is dropped. Values judged bad are never
 * written, so that a slow decline cannot teach the judge that slow is normal.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"

struct err;
struct history;

enum {
	HISTORY_BYTES_MAX = 8 * 1024 * 1024,
	HISTORY_VALUES = 20, /* newest values of a series that are used */
};

/*
 * Read the values measured on `machine` (lib/sys/machine.h; NULL: any). A missing file is an
 * empty history; a torn last line is dropped.
 */
int history_open(const char *machine, struct history **ret, struct err *err);
void history_close(struct history *h);

/* For struct judge_inputs: `context` is the struct history. */
size_t history_values(void *context, const char *check, const char *subject, const char *params,
		      double *ret_values, size_t max);

/* Append the values of a judged run, durably. */
int history_learn(struct history *h, const struct report *report, const struct verdict *verdict,
		  struct err *err);
