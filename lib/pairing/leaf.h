/* SPDX-License-Identifier: Apache-2.0 */
/* Is a switch bad, or the nodes below it? Pure. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct pairing_view;

/* True if groups below this switch show more about it than its nodes with others. */
bool pairing_leaf_at_home(const struct pairing_view *v, size_t leaf);

/*
 * True if the switch may be blamed for carrying only `part` of what is good: if it stands for four
 * bad nodes, or for all but one below it while each of these reached just that much, no more and no
 * less, through other switches too.
 */
bool pairing_leaf_stands(const struct pairing_view *v, size_t leaf, double part);
