/* SPDX-License-Identifier: Apache-2.0 */
/* What a campaign that halves says of hosts that are measured with others. Pure. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "lib/base/macro.h"

/*
 * `campaign` as the API shows it, when it is done. Of one host, enum blame_end: bad where it is
 * named; between where a switch is, good where nobody is, and it took part to the end; else it is
 * not known, and `ret_why` says why in words of the campaign (borrowed) or static ones; of one that
 * was not measured pair_rungs_tells() of that.
 */
int group_brought_end(const json_t *campaign, const char *host, const char **ret_why);

/* The row of `rows` ("blames", "nodes") that has the host; NULL: none does. Borrowed. */
const json_t *group_brought_row(const json_t *rows, const char *host);

/* What the campaign says of no host in particular: a switch, or nobody knows; NULL: nothing. */
const json_t *group_brought_cloud(const json_t *campaign);

/* What it says of all of them, in one sentence. New memory. */
char *group_brought_words(const json_t *campaign);
