/* SPDX-License-Identifier: Apache-2.0 */
/* What may be slow: parts and cells of the results for the tomography, and its answer. Pure. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct pairing_view;

/* Is this cell too fast for that part of the answer, and good for its class? */
bool pairing_contradicts(const struct pairing_view *v, size_t cell, size_t nth);

/* Make parts and cells from the results, and fit them. */
void pairing_fit(struct pairing_view *v);
