/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cluster for sites without one: tables in the store, so that the whole life of a host can be
 * tried on a laptop. Hosts join with their first report and leave when they are forgotten.
 *
 * Changes go into the store's open transaction and are answered after its commit:
 * cluster_embedded_committed(). Nobody is told before that; if the commit fails everybody gets
 * CLUSTER_AGAIN, and the state is reloaded from the store.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct cluster;
struct err;
struct store;

/* All borrowed while it is open. */
struct cluster_embedded_options {
	struct store *store;
	void (*touch)(void *context); /* something waits for the next commit */
	/* Labels of a host, an object of strings, new reference; NULL: none. */
	json_t *(*labels)(void *context, const char *node);
	uint64_t (*now_us)(void *context); /* real time */
	void *context;
	const char *prefix; /* for names (cluster_names.h); NULL: CLUSTER_PREFIX */
};

int cluster_embedded_open(const struct cluster_embedded_options *options,
			  struct cluster **ret_cluster, struct err *err);

/* The store has committed or, with `failed`, rolled back. */
void cluster_embedded_committed(struct cluster *c, bool failed);

/* A host has reported: add it as a node in service. */
int cluster_embedded_join(struct cluster *c, const char *node, struct err *err);

/* The host is forgotten: delete the node with all marks. */
int cluster_embedded_leave(struct cluster *c, const char *node, struct err *err);

/* Its labels may have changed. */
void cluster_embedded_relabel(struct cluster *c, const char *node);

/*
 * A change by somebody else, like `kubectl cordon` and `kubectl uncordon`: sets only the boolean,
 * regardless of our mark. -ENOENT.
 */
int cluster_embedded_touch(struct cluster *c, const char *node, bool unschedulable, struct err *err);
