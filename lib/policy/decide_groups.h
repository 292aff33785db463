/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups that a job accuses as a whole are held as a whole: no job starts on any of their hosts
 * until tests tell which one it is. Pure; a part of policy_decide().
 *
 *  - only once no job runs on any host of the group, and all of them are in service and ours;
 *  - only where total and domain budgets have room for all that are not held yet, and no more than
 *    jobs.over_evict.hosts are held for groups then, in all: where not, nothing is done here, and
 *    its hosts are tested, and held, one by one as others are;
 *  - `hold.at_once` is not asked: it is of single hosts, and groups that are held as a whole do not
 *    count for it, up to so many hosts.
 */
#pragma once

#include "lib/policy/decide_inside.h"

void decide_groups(struct deciding *d);

/* Is it held, and all of its group are? */
bool decide_groups_holds(const struct deciding *d, const struct fleet_node *node);
