/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Among nodes that wait for the same budget, the one whose removal gains most is first (decide.h).
 */
#pragma once

#include "lib/policy/decide_inside.h"

/* True if the candidate takes part. */
typedef bool decide_gain_part_fn(struct deciding *d, const struct candidate *c);

/*
 * Nodes for which the plan of a job says what removing them gains (blame_worth()) swap turns, the
 * largest gain first, if one of their candidates takes part. All others keep their turns: fatal
 * findings and nodes without a plan have no more nodes before them than before. A part that was
 * always slow swaps its turn only if nothing else of its node takes part. Uses the nodes' scratch
 * and leaves it in any state.
 */
void decide_gain_order(struct deciding *d, decide_gain_part_fn *takes_part);

/* "; a good host in its place saves research/llm-7 24 % of a step", or "". */
const char *decide_gain_text(struct deciding *d, const struct fleet_node *node);
