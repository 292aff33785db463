/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a world from outside: people, hosts, the cluster. */
#pragma once

#include <stdint.h>

#include "tests/actor_driver/driver.h"

/* When something of it happens next, or ends; UINT64_MAX: never. */
uint64_t script_due(const struct driver *d);

/* Do what is due now. */
void script_go_on(struct driver *d);

/* A cordon of the node was decided, its `nth` action: somebody at the cluster may be as fast. */
void script_race(struct driver *d, unsigned node, unsigned nth);

/* All that was for a while ends, and every host is well. */
void script_calm(struct driver *d);
