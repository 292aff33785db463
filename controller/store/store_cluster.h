/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the embedded cluster (cluster_embedded.h). */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;

enum { STORE_EVENTS_MAX = 10000 }; /* kept; older ones are deleted */

/* A node. Texts are JSON or NULL, borrowed. */
struct store_cluster_node {
	const char *node, *uid;
	uint64_t version;
	bool unschedulable;
	uint64_t override_us;
	const char *mark, *hold, *condition;
};

int store_put_cluster_node(struct store *s, const struct store_cluster_node *row, struct err *err);
int store_drop_cluster_node(struct store *s, const char *node, struct err *err);

/* Call `each` for all nodes, by name. */
int store_cluster_nodes(struct store *s,
			void (*each)(void *context, const struct store_cluster_node *row),
			void *context, struct err *err);

/* Its version and text (new memory); -ENOENT if there is none. */
int store_ledger(struct store *s, uint64_t *ret_version, char **ret_text, struct err *err);

/* Returns -ESTALE unless `version` is that of the row (0: none); increments the version. */
int store_put_ledger(struct store *s, uint64_t version, const char *text, struct err *err);

int store_add_event(struct store *s, const char *node, bool warning, const char *reason,
		    const char *message, uint64_t at_us, struct err *err);
