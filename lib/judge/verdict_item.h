/* SPDX-License-Identifier: Apache-2.0 */
/* Adds items to a verdict, and relates them to each other. Pure. */
#pragma once

#include "lib/judge/verdict.h"

/* Text from the report for an item: a copy, unless the items borrow. */
char *verdict_text(const struct judge_inputs *inputs, char *text);

/* Text that was allocated for an item: kept, or moved to the pool. */
char *verdict_made(const struct judge_inputs *inputs, char *text);

/* Replaces subjects in the text by people's names for the parts. New memory. */
char *verdict_called(const struct judge_inputs *inputs, const char *text);

/* Appends `item`, a finding of this report, to the verdict, which must have room for it. */
void verdict_add(struct verdict *v, const struct report *report, const struct judge_inputs *inputs,
		 struct verdict_item item);

/* True if it is about a link that explains slow cells ("loopback.link"). */
bool verdict_item_is_link(const struct verdict_item *item);

/* True if another item of the verdict explains this one. */
bool verdict_explained(const struct verdict *v, const struct verdict_item *item);
