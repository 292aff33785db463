/* SPDX-License-Identifier: Apache-2.0 */
/* The input of lib/remedy/remedies.h from a trace. Pure. */
#pragma once

#include <jansson.h>

#include "attribution/attribution.h"

/* "remedies" of "detail" of assay-attribution-summary/1 (docs/formats.md). New reference. */
json_t *summary_remedies(const struct attribution *attribution);

/* "replace" of the full document: the hosts in order. New reference. */
json_t *summary_replace(const struct attribution *attribution);
