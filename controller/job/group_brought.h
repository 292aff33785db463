/* SPDX-License-Identifier: Apache-2.0 */
/* What a bisecting campaign says about hosts measured with others. Pure. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "lib/base/macro.h"

/*
 * Result for one host from `campaign`, as shown by the API, once it is done: an enum blame_end. Bad
 * if it is named; between if a switch is; good if nobody is and the host took part to the end;
 * otherwise unknown, with the reason in `ret_why`: words of the campaign (borrowed) or static ones,
 * and pair_rungs_tells() for a host that was not measured.
 */
int group_brought_end(const json_t *campaign, const char *host, const char **ret_why);

/* The row of `rows` ("blames", "nodes") with the host, borrowed; NULL: none. */
const json_t *group_brought_row(const json_t *rows, const char *host);

/* A result that is not about a single host: a switch, or undecided; NULL: none. */
const json_t *group_brought_cloud(const json_t *campaign);

/* The overall result in one sentence. New memory. */
char *group_brought_words(const json_t *campaign);
