/* SPDX-License-Identifier: Apache-2.0 */
/* The ticket of one host, for those who show more than it. */
#pragma once

#include <jansson.h>

struct err;
struct link;
struct page;

/* GET /v1/nodes/NODE/why with "sample" in each item and "drift". Errors as host_get(). */
int why_fetch(struct link *link, const char *node, json_t **ret, struct err *err);

/* All of it as text. */
void why_show(const json_t *why, struct page *page);
