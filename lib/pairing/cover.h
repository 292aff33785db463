/* SPDX-License-Identifier: Apache-2.0 */
/* How few nodes would explain what is seen. Pure. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct pairing_view;

/*
 * Could so few as `k` nodes be in each of the good groups? Then all may be as bad as
 * these, and nobody knows what good is. `guilty` nodes do not count.
 */
bool pairing_could_spoil(const struct pairing_view *v, const bool *guilty, size_t k);

/* How many nodes below switch `leaf`, at least, must be bad instead of it; at most `most`. */
size_t pairing_nodes_instead(const struct pairing_view *v, size_t leaf, size_t most);
