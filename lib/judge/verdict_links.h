/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From slow cells to the link that makes them slow. Cells keep their own level and
 * point to it; the link is as bad as the worst of them, so that it never condemns
 * a host that its cells do not condemn. Costs nothing where no cell is slow. Pure.
 */
#pragma once

struct judge_inputs;
struct peers;
struct report;
struct verdict;

/* Links that one verdict names at most. */
enum { VERDICT_LINKS_MAX = 16 };

/*
 * Add what explains the slow cells. Until now item number i is that of
 * sample i, followed by those of the `peers` groups that are spread.
 */
void verdict_name_links(struct verdict *v, const struct report *report,
			const struct judge_inputs *inputs, const struct peers *peers);
