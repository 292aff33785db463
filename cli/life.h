/* SPDX-License-Identifier: Apache-2.0 */
/* Where a host is in its life cycle: in service or not, by whom, since when, and what releases it. */
#pragma once

#include <jansson.h>

struct page;

/* "life" of an answer about one host; nothing when there is none, or nothing to tell. */
void life_show(const json_t *host, const struct page *page);
