/* SPDX-License-Identifier: Apache-2.0 */
/* Queries for /metrics and /metrics/nodes: hosts in brief, open incidents by kind. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;

/* A host; borrowed until the callback returns. */
struct store_host_brief {
	const char *node, *sku; /* sku NULL: unknown */
	int level;		/* enum verdict_level; inconclusive if stale */
	bool stale;
};

/* At most `limit` hosts by name, after `after` ("": from the first). */
int store_hosts_brief(struct store *s, const char *after, size_t limit, uint64_t now_us,
		      void (*host)(void *context, const struct store_host_brief *h), void *context,
		      struct err *err);

/* Open incidents by check and by action of the rule. */
int store_incidents_by_kind(struct store *s,
			    void (*kind)(void *context, const char *check, const char *action,
					 uint64_t n),
			    void *context, struct err *err);
