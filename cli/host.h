/* SPDX-License-Identifier: Apache-2.0 */
/* What `node` and `why` have in common: one host of the controller. */
#pragma once

#include <jansson.h>

struct err;
struct link;
struct page;

/*
 * The object at `path`, which is about the host `name`. When there is no such
 * host: -ENOENT with the names that are near.
 */
int host_get(struct link *link, const char *name, const char *path, json_t **ret, struct err *err);

/* `r` of a call about the host `name`: of -ENOENT `err` gets the names that are near. Returns `r`. */
int host_explain(struct link *link, const char *name, int r, struct err *err);

/* Set "drift" of the host: [{key, value, majority, hosts, agree}] where it differs from its SKU. */
int host_add_drift(struct link *link, json_t *host, struct err *err);

/* The host, what it is judged to be and by what, in one sentence. */
void host_head(const json_t *host, const struct page *page);

/* SKU, software, firmware, when it was heard of and what differs, as ticket_line()s. */
void host_facts(const json_t *host, const struct page *page);
