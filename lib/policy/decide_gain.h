/* SPDX-License-Identifier: Apache-2.0 */
/* Of nodes that wait for the same budget, whose removal gains their jobs most goes first (decide.h). */
#pragma once

#include "lib/policy/decide_inside.h"

/* Does the candidate take part? */
typedef bool decide_gain_part_fn(struct deciding *d, const struct candidate *c);

/*
 * Of the nodes of which a candidate takes part those whose jobs' plans say what removing them
 * gains (blame_worth()) swap turns, the largest gain first. Everybody else keeps his turn: what is
 * fatal and whoever has no plan has as many nodes before him as he had. A part that always was slow
 * swaps its turn where nothing else of its node takes part. It uses the nodes' scratch, and leaves
 * it in any state.
 */
void decide_gain_order(struct deciding *d, decide_gain_part_fn *takes_part);

/* "; a good host in its place saves research/llm-7 24 % of a step", or "". */
const char *decide_gain_text(struct deciding *d, const struct fleet_node *node);
