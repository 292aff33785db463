/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `assay-attribute --summary` found in one window, "assay-attribution-summary/1"
 * (docs/formats.md), read as what a stranger's trace had a program print: every number is
 * bounded, every list has a limit, and what is not known is left out. Pure.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct err;

enum {
	SUMMARY_SUSPECTS_MAX = 3,
	SUMMARY_HOSTS_MAX = 64, /* of one suspect */
	SUMMARY_CELLS_MAX = 4096,
	SUMMARY_RANKS_MAX = 16384,
	SUMMARY_SPANS_MAX = 1024, /* of the ranks of one suspect */
	SUMMARY_JOB_HOSTS_MAX = 4096,
	SUMMARY_STEPS_MAX = 1000000,
	SUMMARY_SENTENCE_MAX = 1000, /* bytes */
	SUMMARY_CAUSE_MAX = 40,
};

/*
 * What the text says, checked: new reference. With "suspect" (its hosts or its worker, as one
 * text) of the first of its suspects that counts, and "slowdown", "slowdown_low" and
 * "slowdown_high" as numbers. -EINVAL: it is none; -ERANGE: it is of a job that is too large.
 */
int summary_read(const char *text, json_t **ret, struct err *err);

/*
 * The ranks of a suspect: its "rank_spans", else its "ranks" as if it had all between the first and
 * the last. Returns how many spans, 0 where it does not say; `ret_spans` of first and last,
 * ascending.
 */
size_t summary_ranks(const json_t *suspect, int64_t ret_spans[static SUMMARY_SPANS_MAX][2]);

/* Set its "suspect" once more: some of its suspects have other hosts, or do not count. */
void summary_name_suspect(json_t *summary);

/* Who a suspect is, as one text that is equal for equal ones: hosts in order, else its worker. New
 * memory. */
char *summary_suspect_name(const json_t *suspect);

/* What a reader calls the cause: the class of what a host may do, else the label; null when nothing
 * is slow. */
json_t *summary_cause(const json_t *summary);
