/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the previous run of the same probes had and this one does not: a check that ran last time
 * and is absent now is missing, never good. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct judge_inputs;
struct report;
struct verdict;
struct verdict_item;

enum { PROBE_PREFIX_SIZE = 128, MISSING_COUNTS_MAX = 8 };

/*
 * The prefix of the names of a probe's checks: "rnic_pair." for rnic-pair, "host." for host-state.
 */
void probe_prefix(const char *probe, char ret_prefix[static PROBE_PREFIX_SIZE]);

/* True if the check is one of that probe's. */
bool probe_has_check(const char *probe, const char *check);

/*
 * True if a problem in the report explains why there is no sample of this check: the probe did not
 * run or did not finish, so the report neither confirms nor clears earlier findings. "Nothing to
 * measure here" is not such a problem. In a run of hand-picked probes, checks of all other probes
 * are excused too.
 */
bool missing_excused(const struct report *report, const char *check);

/*
 * Finds the items of `before` whose (check, subject) has no sample in the report, each once. Writes
 * them to `ret_items` (room for before->n_items) and returns their number. Left out: findings about
 * probes and about the host as a whole; states and events (host.*, rnic.*, gpu.*), which need not
 * recur; checks of a probe that a problem of the report is about; a cell of the loopback mesh if
 * other cells cover both of its ends. "Nothing to measure here" does not excuse: the device was
 * there.
 */
size_t missing_find(const struct report *report, const struct verdict *before,
		    const struct verdict_item **ret_items);

/*
 * Finds the counts (inventory.*, subject "host") that the SKU file expects and the report lacks,
 * although the probe that counts them ran (a probe leaves out what it cannot count). A probe that
 * produced no samples, or is not built, misses none. Returns their number.
 */
size_t missing_counts(const struct report *report, const struct judge_inputs *inputs,
		      const char *ret_checks[static MISSING_COUNTS_MAX]);
