/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of `assay-attribute --summary` for one window, "assay-attribution-summary/1"
 * (docs/formats.md). It derives from an untrusted trace: every number is checked, every list is
 * limited, and unknown members are left out. Pure.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct err;

enum {
	SUMMARY_SUSPECTS_MAX = 3,
	SUMMARY_HOSTS_MAX = 64, /* per suspect */
	SUMMARY_CELLS_MAX = 4096,
	SUMMARY_RANKS_MAX = 16384,
	SUMMARY_SPANS_MAX = 1024, /* of the ranks of one suspect */
	SUMMARY_JOB_HOSTS_MAX = 4096,
	SUMMARY_STEPS_MAX = 1000000,
	SUMMARY_SENTENCE_MAX = 1000, /* bytes */
	SUMMARY_CAUSE_MAX = 40,
};

/*
 * Parse and check the text: new reference. Adds "suspect" (hosts or worker of the first suspect
 * that counts, as one text), and "slowdown", "slowdown_low" and "slowdown_high" as numbers.
 * -EINVAL: invalid; -ERANGE: the job is too large.
 */
int summary_read(const char *text, json_t **ret, struct err *err);

/*
 * The ranks of a suspect: its "rank_spans", else its "ranks" as if it had all between first and
 * last. Returns the number of spans, 0 if it has neither; `ret_spans`: first and last of each,
 * ascending.
 */
size_t summary_ranks(const json_t *suspect, int64_t ret_spans[static SUMMARY_SPANS_MAX][2]);

/* Set its "suspect" again, after the hosts of its suspects, or whether they count, have changed. */
void summary_name_suspect(json_t *summary);

/* Text that identifies a suspect: its hosts in order, else its worker. New memory. */
char *summary_suspect_name(const json_t *suspect);

/* Name of the cause for people: the class for a host's fault, else the label; null if nothing is
 * slow. */
json_t *summary_cause(const json_t *summary);
