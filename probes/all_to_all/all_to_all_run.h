/* SPDX-License-Identifier: Apache-2.0 */
/* One measurement from the data to the pairs, whatever the ends are. */
#pragma once

struct all_to_all;

/* What belongs to `t`; the plan is of who made it. */
void all_to_all_release(struct all_to_all *t);

/* Data, sizes and pairs of a group that is set up. What the sink returned. */
int all_to_all_measure(struct all_to_all *t);
