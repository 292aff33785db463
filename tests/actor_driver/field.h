/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cluster: nodes, a ledger, and requests that are delayed, lost, or fail. It outlives the
 * controllers: a request sent before a kill may still be executed.
 */
#pragma once

#include <stdint.h>

#include "tests/actor_driver/driver.h"

/* Sets the controller's cluster operations. */
void field_attach(struct controller *c);

/* Returns when the next request, response or watch event is due; UINT64_MAX: never. */
uint64_t field_due(const struct driver *d);

/* Executes what is due now. */
void field_go_on(struct driver *d);

/* Call after a change of the node: the watches will report it. */
void field_changed(struct driver *d, unsigned node);

/* Cuts the watches, or restores them. */
void field_cut(struct driver *d);
void field_mend(struct driver *d);

/* Is the node out of service for any reason, and so counted in the budgets? */
bool field_is_out(const struct node *n);

/* Drops pending requests. */
void field_release(struct driver *d);
