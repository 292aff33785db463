/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An in-memory API server behind kube_send(): nodes with versions, a watch on them, events.
 * Requests wait until the test answers them one by one, so it controls what happens in between.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/kube/kube.h"
#include "lib/base/macro.h"

enum { FAKE_FIRST = 100 }; /* the version before the first change */

/* What happens to a request. */
enum fake_fate {
	FAKE_SERVED,
	FAKE_LOST,	 /* it never reaches the server */
	FAKE_UNANSWERED, /* it is executed, but the response is lost */
	FAKE_CONFLICT,	 /* a write of a node fails: 409 */
	FAKE_BUSY,	 /* 429 */
	FAKE_FATES,
};

struct kube {
	json_t *nodes;	/* by name */
	json_t *events; /* by name */
	uint64_t version, uids;
	char **log; /* a watch line for each version after FAKE_FIRST */
	size_t n_log;
	struct kube_request *first;
	unsigned requests, writes, streams; /* streams: open now; the others are totals */
	/* Called with the body before a write of ours is applied to a node. */
	void (*seen)(void *context, const json_t *node, const json_t *patch);
	void *context;
};

void fake_init(struct kube *kube);
void fake_release(struct kube *kube);

/* Returns the number of pending requests, without watches. */
size_t fake_waiting(const struct kube *kube);

/* Answers the i-th pending request. */
void fake_answer(struct kube *kube, size_t i, enum fake_fate fate);

/* Answers requests until none is pending. */
void fake_run(struct kube *kube);

/* Method and path of the i-th pending request, "PATCH /api/v1/nodes/a". Borrowed. */
const char *fake_what(const struct kube *kube, size_t i);
const json_t *fake_body(const struct kube *kube, size_t i);

/* --- changes by others --- */

void fake_add(struct kube *kube, const char *name);
void fake_delete(struct kube *kube, const char *name);

/* A merge patch by another manager, who owns spec.unschedulable if he sets it. */
void fake_patch(struct kube *kube, const char *name, const char *manager, json_t *patch);

/* The node, or NULL. Borrowed. */
json_t *fake_node(const struct kube *kube, const char *name);

/* Sends the watches at most `n` pending changes. */
void fake_tell(struct kube *kube, size_t n);
