/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants of any actor, checked against what the cluster, the store and people did:
 *
 *  - our cordons and holds never exceed the budgets of the policy, as of the last time the cluster
 *    was queried; none is on a node that belongs to another owner;
 *  - no request changes a node without a decided action in the store;
 *  - our cordon ends only after a later test passed, or by a person; we never end another's;
 *  - at the end every action has ended, and every mark matches the state in the store.
 */
#pragma once

#include "tests/actor_driver/driver.h"

/* Checks a request that is being sent. */
void check_sent(struct controller *c, const struct request *r);

/* Checks a request that is about to be executed, before the node changes. */
void check_done(struct controller *c, const struct request *r);

/* Checks the final state. */
void check_end(struct driver *d);
