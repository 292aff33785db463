/* SPDX-License-Identifier: Apache-2.0 */
/* What a seed stands for: nodes, two versions of a policy, and a script of what happens. */
#pragma once

struct driver;

/* Of `d->seed`; the rest of it is zero but for how it is run. */
void world_make(struct driver *d);
void world_release(struct driver *d);
