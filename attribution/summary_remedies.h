/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan of a job needs of its trace: lib/remedy/remedies.h prices it. Pure. */
#pragma once

#include <jansson.h>

#include "attribution/attribution.h"

/* "remedies" of "detail" of assay-attribution-summary/1 (docs/formats.md). New reference. */
json_t *summary_remedies(const struct attribution *attribution);

/* "replace" of the whole document: the hosts in their order. New reference. */
json_t *summary_replace(const struct attribution *attribution);
