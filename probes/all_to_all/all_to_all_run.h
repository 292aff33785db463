/* SPDX-License-Identifier: Apache-2.0 */
/* One measurement from data to pairs, independent of the kind of ends. */
#pragma once

struct all_to_all;

/* Release what belongs to `t`; the plan belongs to its creator. */
void all_to_all_release(struct all_to_all *t);

/* Measure data, sizes and pairs with a group that is set up. Returns the result of the sink. */
int all_to_all_measure(struct all_to_all *t);
