/* SPDX-License-Identifier: Apache-2.0 */
/* Prints actions as a table and as lines, for several views. */
#pragma once

#include <jansson.h>

struct page;

/*
 * What was done, the outcome, by whom, when and why, in one line; not clean. The caller frees it.
 */
char *action_line(const json_t *action, const struct page *page);

/* Print the table of GET /v1/actions and an empty line. */
void actions_show(const json_t *items, struct page *page);
