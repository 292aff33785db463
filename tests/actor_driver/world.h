/* SPDX-License-Identifier: Apache-2.0 */
/* The world of a seed: nodes, two versions of a policy, and a script of events. */
#pragma once

struct driver;

/* Generates the world of `d->seed`. Only run options may be set in the rest of `d`. */
void world_make(struct driver *d);
void world_release(struct driver *d);
