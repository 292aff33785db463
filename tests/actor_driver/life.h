/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated clock, and the start and death of controllers. */
#pragma once

#include <stdint.h>

#include "tests/actor_driver/driver.h"

/* Runs a seed: its script, then a calm phase until all is done. Returns the violations. */
unsigned life_run(struct driver *d);

/* The controller has reached this point; it may be killed here. */
void life_point(struct controller *c, enum point point, unsigned node);

/* Callbacks of struct actor_options: a commit is needed; the node may have orders. */
void life_touch(struct controller *c);
void life_look(struct controller *c, const char *node);

/* Both clocks of a controller. They differ, to reveal code that confuses them. */
uint64_t life_real_us(const struct controller *c);
uint64_t life_mono_us(const struct controller *c);

/* The current policy. */
const struct policy *life_policy(const struct controller *c);
