/* SPDX-License-Identifier: Apache-2.0 */
/* Common code of `node` and `why`: one host of the controller. */
#pragma once

#include <jansson.h>

struct err;
struct link;
struct page;

/*
 * GET the object at `path`, about the host `name`. If there is no such host, -ENOENT with similar
 * names.
 */
int host_get(struct link *link, const char *name, const char *path, json_t **ret, struct err *err);

/* Add similar names to `err` if `r`, from a call about the host `name`, is -ENOENT. Returns `r`. */
int host_explain(struct link *link, const char *name, int r, struct err *err);

/* Set "drift" of the host: [{key, value, majority, hosts, agree}] where it differs from its SKU. */
int host_add_drift(struct link *link, json_t *host, struct err *err);

/* Print the host with its verdict and the reason, in one sentence. */
void host_head(const json_t *host, const struct page *page);

/* Print SKU, software, firmware, last contact and differences, as ticket_line()s. */
void host_facts(const json_t *host, const struct page *page);
