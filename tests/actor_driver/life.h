/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of a seed, and the controllers that live and die on it. */
#pragma once

#include <stdint.h>

#include "tests/actor_driver/driver.h"

/* Live through the seed: its script, then quiet until all has ended. Returns the violations. */
unsigned life_run(struct driver *d);

/* What is durable is at this point; it may be the last thing that the controller does. */
void life_point(struct controller *c, enum point point, unsigned node);

/* Of struct actor_options: something waits for a commit; the node may have orders. */
void life_touch(struct controller *c);
void life_look(struct controller *c, const char *node);

/* Both clocks of a controller. They differ, so that whoever takes one for the other is seen. */
uint64_t life_real_us(const struct controller *c);
uint64_t life_mono_us(const struct controller *c);

/* The policy that counts. */
const struct policy *life_policy(const struct controller *c);
