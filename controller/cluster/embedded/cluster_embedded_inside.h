/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the embedded cluster share. */
#pragma once

#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "controller/cluster/embedded/cluster_embedded.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

/* So long a cluster that could not is left alone. */
#define AGAIN_US USEC_PER_SEC

struct node {
	struct cluster_node c; /* `version` is made when it is shown */
	uint64_t version;
	char *condition;
};

/* Whoever waits for the commit, or who is told of a change after it. */
struct pending {
	struct cluster_call call;
	enum cluster_result result;
	const char *words; /* static */
	char *node;	   /* or NULL: the ledger's */
	bool changed;	   /* the watcher is told */
	bool list;
	void (*each)(void *context, const struct cluster_node *node);
	uint64_t version; /* of the ledger */
	char *text;
};

struct embedded {
	struct cluster cluster; /* first */
	struct cluster_embedded_options options;
	struct cluster_names names;
	const struct cluster_watcher *watcher;
	void *tree; /* of struct node, by name */
	struct pending *pending;
	size_t n_pending;
	bool sync;   /* the watcher has to be told all */
	bool broken; /* something could not be put into the store: it counts, not we */
};

struct embedded *embedded_of(struct cluster *c);
struct node *embedded_find(const struct embedded *e, const char *name);
void embedded_node_free(void *p);

/* The node as others see it. Borrowed until the next call. */
const struct cluster_node *embedded_show(struct node *n);

/* Put it into the open transaction, one version on. */
int embedded_keep(struct embedded *e, struct node *n, struct err *err);

/* Have the call answered after the next commit; NULL: too many wait, and it was answered. */
struct pending *embedded_wait(struct embedded *e, const struct cluster_call *call, const char *node);

/* What came of a change, and what is said when it did not come about. `words` is static. */
void embedded_conclude(struct embedded *e, const struct cluster_call *call, const char *node,
		       enum cluster_result result, const char *words);

void embedded_close(struct cluster *c);
extern const struct cluster_ops embedded_ops;
