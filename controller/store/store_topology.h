/* SPDX-License-Identifier: Apache-2.0 */
/* Topologies of hosts, each once, by their digest. */
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

/* Is it there? */
int store_has_topology(struct store *s, const char *digest, bool *ret_known, struct err *err);

/*
 * Put one that is not there into the open transaction. With `max` of them
 * those that no host has any more make room, oldest first; -EDQUOT when hosts
 * have all of them.
 */
int store_add_topology(struct store *s, const struct store_topology *in, size_t max,
		       struct err *err);

/* Its text, new memory. -ENOENT. */
int store_topology(struct store *s, const char *digest, char **ret_text, struct err *err);

/*
 * Read where hosts are (store_places.h) from those that an older version left unread, until the
 * deadline (monotonic): 1 when there are more, 0 at the end of them. In the open transaction.
 */
int store_hear_more(struct store *s, uint64_t deadline_us, struct err *err);

/* Is one of them left? */
int store_unheard(struct store *s, bool *ret_any, struct err *err);
