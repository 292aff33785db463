/* SPDX-License-Identifier: Apache-2.0 */
/* Is it a switch, or the nodes below it? Pure. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct pairing_view;

/* Do groups below this switch tell more of it than its nodes with others do? */
bool pairing_leaf_at_home(const struct pairing_view *v, size_t leaf);

/*
 * May the switch be blamed that lets through `part` of what is good? When it stands for four
 * bad nodes, or for all but one below it and each of them reached that much, no more
 * and no less, through other switches too.
 */
bool pairing_leaf_stands(const struct pairing_view *v, size_t leaf, double part);
