/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an earlier run of the same probes had and this one has not: a check
 * that ran last time and is absent now is missing, never good. Pure.
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
 * What the names of a probe's checks begin with: "rnic_pair." for rnic-pair,
 * "host." for host-state.
 */
void probe_prefix(const char *probe, char ret_prefix[static PROBE_PREFIX_SIZE]);

/* Is the check one of that probe's? */
bool probe_has_check(const char *probe, const char *check);

/*
 * Does a problem of the report say why there is no sample of this check? The
 * probe did not run or did not end, so the report neither confirms nor clears
 * what was found before. "Nothing to measure here" is no such problem. Of a run
 * of probes picked by hand, what the others find is not asked for either.
 */
bool missing_excused(const struct report *report, const char *check);

/*
 * The items of `before` whose (check, subject) the report has no sample of,
 * each once, into `ret_items` (room for before->n_items); returns how many.
 * Left out: findings about probes and about the host as a whole, states and
 * events (host.*, rnic.*, gpu.*: they need not come again), and checks of a
 * probe that a problem of the report speaks of; a cell of the loopback mesh while others
 * have each of its ends. "Nothing to measure
 * here" does not excuse: the device was there.
 */
size_t missing_find(const struct report *report, const struct verdict *before,
		    const struct verdict_item **ret_items);

/*
 * The counts (inventory.*, subject "host") that the SKU file expects and the
 * report has no sample of, although the probe that counts them ran: what it cannot
 * count it leaves out. A probe that brought nothing, or is not built, misses none.
 */
size_t missing_counts(const struct report *report, const struct judge_inputs *inputs,
		      const char *ret_checks[static MISSING_COUNTS_MAX]);
