/* SPDX-License-Identifier: Apache-2.0 */
/* What /metrics and /metrics/nodes ask of the store beside counts: hosts in brief, open incidents
 * by their kind. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;

/* A host; borrowed until the callback returns. */
struct store_host_brief {
	const char *node, *sku; /* sku: NULL: not known */
	int level;		/* enum verdict_level; inconclusive when stale */
	bool stale;
};

/* Hosts by name, after `after` ("": from the first), at most `limit`. */
int store_hosts_brief(struct store *s, const char *after, size_t limit, uint64_t now_us,
		      void (*host)(void *context, const struct store_host_brief *h), void *context,
		      struct err *err);

/* Open incidents by check and by what the rule asks for. */
int store_incidents_by_kind(struct store *s,
			    void (*kind)(void *context, const char *check, const char *action,
					 uint64_t n),
			    void *context, struct err *err);
