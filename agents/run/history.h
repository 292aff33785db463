/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $STATE/history.jsonl: this host's own earlier values, one line a run, as a
 * reference for the judge. Bounded: the oldest half goes when it is full. Only
 * runs whose value was not judged bad are learned from, so that a slow decline
 * cannot teach the judge that slow is normal: a value below its floor is never
 * written.
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
	HISTORY_VALUES = 20, /* newest values of one series that are used */
};

/* Read what `machine` (lib/sys/machine.h; NULL: any) measured; a missing file is an empty history,
 * a torn last line is dropped. */
int history_open(const char *machine, struct history **ret, struct err *err);
void history_close(struct history *h);

/* For struct judge_inputs: `context` is the struct history. */
size_t history_values(void *context, const char *check, const char *subject, const char *params,
		      double *ret_values, size_t max);

/* Add the values of a judged run, durably. */
int history_learn(struct history *h, const struct report *report, const struct verdict *verdict,
		  struct err *err);
