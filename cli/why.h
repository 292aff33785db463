/* SPDX-License-Identifier: Apache-2.0 */
/* The ticket of one host, for several views. */
#pragma once

#include <jansson.h>

struct err;
struct link;
struct page;

/* GET /v1/nodes/NODE/why, with "sample" in each item and "drift" added. Errors as host_get(). */
int why_fetch(struct link *link, const char *node, json_t **ret, struct err *err);

/* Print all of it as text. */
void why_show(const json_t *why, struct page *page);
