/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The effect of each remedy for a described job (experimental). The trace gives the speed of its
 * hosts and the step time; the description gives their capacity and what may be moved. The
 * planners are in lib/remedy; docs/remedies.md explains the results.
 *
 * A step takes the time of its slowest pipeline under 1F1B, plus the present difference to the
 * step time, which no remedy changes.
 */
#pragma once

#include "attribution/attribution.h"
#include "attribution/description.h"

/* Relative difference above which a description contradicts the trace. */
#define OUTLOOK_DIFFERENCE 0.25

/*
 * Compute the document, a new reference. `trace` is its name for messages. Remedies that are
 * impossible are included, with the reason. -EINVAL: the description contradicts the trace or
 * itself, with "FILE:LINE: key: what it says and what the trace has".
 */
int outlook_find(const struct attribution *attribution, const struct description *description,
		 const char *trace, json_t **ret_doc, struct err *err);
