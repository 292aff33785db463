/* SPDX-License-Identifier: Apache-2.0 */
/* How few nodes would explain the results. Pure. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct pairing_view;

/*
 * True if only `k` nodes could be in all of the good groups. Then everybody may be as bad as these,
 * and nobody knows what good is. `guilty` nodes do not count.
 */
bool pairing_could_spoil(const struct pairing_view *v, const bool *guilty, size_t k);

/* How many nodes below switch `leaf` must be bad, at least, if it is not; at most `most`. */
size_t pairing_nodes_instead(const struct pairing_view *v, size_t leaf, size_t most);
