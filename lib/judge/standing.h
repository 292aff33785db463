/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run clears only what it measured: findings of an earlier run of a profile stand until a run of
 * that profile measures them again. The host and the controller keep them beside the newest run.
 * Pure.
 */
#pragma once

#include <stdbool.h>

struct report;
struct verdict;

/*
 * True if an earlier finding could still stand after this run. False if all probes of its profile
 * ran and nothing was inconclusive; then there is no need to look.
 */
bool standing_possible(const struct report *report, const struct verdict *now);

/*
 * Reduces `earlier` to what still stands after `now`, the verdict of `report`: items about which
 * `now` says nothing because their probe did not run (busy, not picked) or did not finish, and bad
 * ones that it could not measure again (a job came: verdict_item_outlives()). Level and sentence
 * are then set again; n_items is 0 if nothing is left.
 */
void standing_keep(struct verdict *earlier, const struct report *report, const struct verdict *now);
