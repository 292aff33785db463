/* SPDX-License-Identifier: Apache-2.0 */
/* Actions as a table and as lines, for those who show them beside something else. */
#pragma once

#include <jansson.h>

struct page;

/* What was done, how it went, by whom, when and why, in one line that is not clean. New memory. */
char *action_line(const json_t *action, const struct page *page);

/* The table of GET /v1/actions, and an empty line. */
void actions_show(const json_t *items, struct page *page);
