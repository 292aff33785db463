/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What measured nothing clears nothing: what an earlier run of a profile found
 * stands until a run of that profile measures it again. The host and the controller keep
 * it beside the newest run. Pure.
 */
#pragma once

#include <stdbool.h>

struct report;
struct verdict;

/*
 * Can anything earlier stand against this run? Not where all probes of its profile
 * ran and all that it says could be told: then there is no need to look.
 */
bool standing_possible(const struct report *report, const struct verdict *now);

/*
 * Leave in `earlier` what still stands after `now`, the verdict of `report`: items
 * that it says nothing of because their probe did not run (busy, not picked) or did not
 * end, and bad ones that it did not measure again (a job came: verdict_item_outlives()). What
 * is left is concluded anew; with nothing left n_items is 0.
 */
void standing_keep(struct verdict *earlier, const struct report *report, const struct verdict *now);
