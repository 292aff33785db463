/* SPDX-License-Identifier: Apache-2.0 */
/* One item of a verdict: how it is added, and what it is beside the others. Pure. */
#pragma once

#include "lib/judge/verdict.h"

/* A text of the report for an item: a copy, unless the items borrow. */
char *verdict_text(const struct judge_inputs *inputs, char *text);

/* A text that was made for an item: kept as it is, or moved to the pool. */
char *verdict_made(const struct judge_inputs *inputs, char *text);

/* A text with the names that people have for the parts in it. New memory. */
char *verdict_called(const struct judge_inputs *inputs, const char *text);

/* The finding `item` of this report at the end of the verdict, which has room for it. */
void verdict_add(struct verdict *v, const struct report *report, const struct judge_inputs *inputs,
		 struct verdict_item item);

/* Is it about a link that explains slow cells ("loopback.link")? */
bool verdict_item_is_link(const struct verdict_item *item);

/* Does another item of the verdict explain this one? */
bool verdict_explained(const struct verdict *v, const struct verdict_item *item);
