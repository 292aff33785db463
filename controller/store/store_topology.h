/* SPDX-License-Identifier: Apache-2.0 */
/* Topologies of hosts, stored once per digest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct store;

/* All borrowed. */
struct store_topology {
	const char *digest;
	const char *text; /* topology/1 */
	uint64_t seen_us;
};

/* Is it stored? */
int store_has_topology(struct store *s, const char *digest, bool *ret_known, struct err *err);

/*
 * Add a new one in the open transaction. At `max`, those no longer used by any host make room,
 * oldest first; -EDQUOT if all are used.
 */
int store_add_topology(struct store *s, const struct store_topology *in, size_t max,
		       struct err *err);

/* Its text, new memory. -ENOENT. */
int store_topology(struct store *s, const char *digest, char **ret_text, struct err *err);

/*
 * Extract where hosts are (store_places.h) from topologies stored by an older version, until the
 * deadline (monotonic): returns 1 if there are more, 0 at the end. In the open transaction.
 */
int store_hear_more(struct store *s, uint64_t deadline_us, struct err *err);

/* Are there any left? */
int store_unheard(struct store *s, bool *ret_any, struct err *err);
