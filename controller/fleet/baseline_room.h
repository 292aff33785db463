/* SPDX-License-Identifier: Apache-2.0 */
/* Which baselines there is room for (share.h), and how they go. */
#pragma once

struct baseline;
struct baselines;

/*
 * All hosts of it are there: count it among those of its only host, which may drop that
 * host's oldest, or drop it when it has none.
 */
void baselines_settle(struct baselines *b, struct baseline *baseline);

/* Those that have no host, and only remember none. */
void baselines_drop_empty(struct baselines *b);

/* Take it out. While a list has it, or the store a row, its name stays, in `b->dropped`. */
void baselines_drop(struct baselines *b, struct baseline *baseline);

/* Is the table full? Then those of the fewest hosts go. */
void baselines_make_room(struct baselines *b);
