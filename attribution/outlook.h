/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each remedy of a described job would give (experimental): the trace says how fast its
 * hosts are and what a step takes, the description what they hold and what may be moved. The
 * planners are those of lib/remedy; docs/remedies.md says what each answer means.
 *
 * A step is what the slowest pipeline takes under 1F1B, and what it takes now beyond that, which
 * is the same whatever is moved.
 */
#pragma once

#include "attribution/attribution.h"
#include "attribution/description.h"

/* A description that differs more than this from what the trace has contradicts it. */
#define OUTLOOK_DIFFERENCE 0.25

/*
 * The document, new reference. `trace` is its name, for sentences. What cannot be had is in it
 * with its reason. -EINVAL: the description contradicts the trace, or itself: FILE:LINE: key: what
 * it says and what the trace has.
 */
int outlook_find(const struct attribution *attribution, const struct description *description,
		 const char *trace, json_t **ret_doc, struct err *err);
