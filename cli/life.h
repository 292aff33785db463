/* SPDX-License-Identifier: Apache-2.0 */
/* A host's life cycle: in service or not, by whom, since when, and what releases it. */
#pragma once

#include <jansson.h>

struct page;

/* Print "life" of an answer about one host; nothing if it is missing or unremarkable. */
void life_show(const json_t *host, const struct page *page);
