/* SPDX-License-Identifier: Apache-2.0 */
/* External events: people, hosts, the cluster. */
#pragma once

#include <stdint.h>

#include "tests/actor_driver/driver.h"

/* Returns when the next event begins or ends; UINT64_MAX: never. */
uint64_t script_due(const struct driver *d);

/* Executes the events that are due now. */
void script_go_on(struct driver *d);

/* A cordon of the node was decided, its `nth` action: a person at the cluster may race with it. */
void script_race(struct driver *d, unsigned node, unsigned nth);

/* Ends all temporary events and cures all hosts. */
void script_calm(struct driver *d);
