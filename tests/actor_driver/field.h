/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cluster: nodes, a ledger, and requests that come late, are lost, or go wrong. Nothing of it
 * dies with a controller: what was sent may be done yet.
 */
#pragma once

#include <stdint.h>

#include "tests/actor_driver/driver.h"

/* What a controller is given: its operations. */
void field_attach(struct controller *c);

/* When something is due next: a request, its answer, a watch; UINT64_MAX: never. */
uint64_t field_due(const struct driver *d);

/* Do what is due now. */
void field_go_on(struct driver *d);

/* The node was changed: watches will tell of it. */
void field_changed(struct driver *d, unsigned node);

/* The watches are cut, or mended. */
void field_cut(struct driver *d);
void field_mend(struct driver *d);

/* Out of service, whoever did it: counts in the budgets. */
bool field_is_out(const struct node *n);

/* What still waits is forgotten. */
void field_release(struct driver *d);
