/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cluster of who has none: tables in the store, so that the whole life of a
 * host can be tried on a laptop. Hosts join with their first report and leave
 * when they are forgotten.
 *
 * What it is asked to do is put into the store's open transaction, and answered
 * when that was committed: cluster_embedded_committed(). Until then nobody is told,
 * and when the commit failed everybody is told CLUSTER_AGAIN and what the store has
 * counts again.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct cluster;
struct err;
struct store;

/* All borrowed, for as long as it is open. */
struct cluster_embedded_options {
	struct store *store;
	void (*touch)(void *context); /* something waits for the next commit */
	/* Labels of a host, an object of texts, new reference; NULL: none. */
	json_t *(*labels)(void *context, const char *node);
	uint64_t (*now_us)(void *context); /* real time */
	void *context;
	const char *prefix; /* of names (cluster_names.h); NULL: CLUSTER_PREFIX */
};

int cluster_embedded_open(const struct cluster_embedded_options *options,
			  struct cluster **ret_cluster, struct err *err);

/* The store has committed, or (`failed`) has forgotten what it was told. */
void cluster_embedded_committed(struct cluster *c, bool failed);

/* A host reports: it is a node from now on, in service. */
int cluster_embedded_join(struct cluster *c, const char *node, struct err *err);

/* It is forgotten: the node goes, with all marks on it. */
int cluster_embedded_leave(struct cluster *c, const char *node, struct err *err);

/* Its labels may have changed. */
void cluster_embedded_relabel(struct cluster *c, const char *node);

/*
 * Somebody else's hand, as `kubectl cordon` and `kubectl uncordon` are: the boolean alone,
 * whatever we have marked. -ENOENT.
 */
int cluster_embedded_touch(struct cluster *c, const char *node, bool unschedulable, struct err *err);
