/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names the links that explain slow cells. Cells keep their own level and point to the link; the
 * link is as bad as the worst of them, so it never condemns a host that its cells do not condemn.
 * Costs nothing if no cell is slow. Pure.
 */
#pragma once

struct judge_inputs;
struct peers;
struct report;
struct verdict;

/* Most links that a verdict names. */
enum { VERDICT_LINKS_MAX = 16 };

/*
 * Adds the links that explain the slow cells. Must be called while item number i is that of sample
 * i, followed only by those of the spread groups of `peers`.
 */
void verdict_name_links(struct verdict *v, const struct report *report,
			const struct judge_inputs *inputs, const struct peers *peers);
