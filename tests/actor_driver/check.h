/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold whoever acts, judged by what the cluster, the store and people did alone:
 *
 *  - no cordon or hold of ours is more than the budgets of the policy, by what was known when the
 *    cluster was last asked; none of them is given to a node of another owner;
 *  - nothing is asked of a node that does not stand in the store as decided;
 *  - a cordon of ours ends by a test that passed after it, or by a person; another's never;
 *  - in the end every action has ended, every mark has its state and every state its mark.
 */
#pragma once

#include "tests/actor_driver/driver.h"

/* It is being sent. */
void check_sent(struct controller *c, const struct request *r);

/* It is about to be done; the node is as it was. */
void check_done(struct controller *c, const struct request *r);

/* Nothing goes on any more. */
void check_end(struct driver *d);
