/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the judge share. */
#pragma once

#include "lib/judge/verdict.h"

struct peers;

/* Links that one verdict names at most. */
enum { VERDICT_LINKS_MAX = 16 };

/* A text of the report for an item: a copy, unless the items borrow. */
char *verdict_text(const struct judge_inputs *inputs, char *text);

/* A text that was made for an item: kept as it is, or moved to the pool. */
char *verdict_made(const struct judge_inputs *inputs, char *text);

/* The finding `item` of this report at the end of the verdict, which has room for it. */
void verdict_add(struct verdict *v, const struct report *report, const struct judge_inputs *inputs,
		 struct verdict_item item);

/* Add the host as a whole in each check in which its parts are low together. */
void verdict_add_wholes(struct verdict *v, const struct report *report,
			const struct judge_inputs *inputs, const struct peers *peers);

/*
 * Add what explains the slow cells (verdict_links.c). Until now item number i is that of
 * sample i, followed by those of the `peers` groups that are spread.
 */
void verdict_name_links(struct verdict *v, const struct report *report,
			const struct judge_inputs *inputs, const struct peers *peers);
