/* SPDX-License-Identifier: Apache-2.0 */
/* Possible causes: parts and cells of the results for the tomography, and its answer. Pure. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct pairing_view;

/* True if this cell is too fast for that part of the answer, and good for its class. */
bool pairing_contradicts(const struct pairing_view *v, size_t cell, size_t nth);

/* Makes parts and cells from the results, and fits them. */
void pairing_fit(struct pairing_view *v);
