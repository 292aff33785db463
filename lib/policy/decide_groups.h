/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups that a job accuses as a whole are held as a whole: no job starts on any of their hosts
 * until tests show which one it is. Pure; part of policy_decide().
 *
 * - Only once no job runs on any host of the group, and all of them are in service and ours.
 * - Only if the total and domain budgets have room for all that are not held yet, and at most
 *   jobs.over_evict.hosts are then held for groups in all. If not, nothing is done here, and the
 *   hosts are tested, and held, one by one like others.
 * - `hold.at_once` is not checked: it limits single hosts. Groups held as a whole do not count for
 *   it, up to that many hosts.
 */
#pragma once

#include "lib/policy/decide_inside.h"

void decide_groups(struct deciding *d);

/* True if it is held, and so is all of its group. */
bool decide_groups_holds(const struct deciding *d, const struct fleet_node *node);
