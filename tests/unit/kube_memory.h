/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An API server in memory behind kube_send(): nodes with versions, their watch, events.
 * Requests wait until they are answered one by one, so that a test says what happens in between.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/kube/kube.h"
#include "lib/base/macro.h"

enum { FAKE_FIRST = 100 }; /* the version before the first change */

/* What becomes of a request. */
enum fake_fate {
	FAKE_SERVED,
	FAKE_LOST,	 /* it never came to the server */
	FAKE_UNANSWERED, /* it was done, and the answer was lost */
	FAKE_CONFLICT,	 /* a writing of a node is refused: 409 */
	FAKE_BUSY,	 /* 429 */
	FAKE_FATES,
};

struct kube {
	json_t *nodes;	/* by name, as the server has them */
	json_t *events; /* by name */
	uint64_t version, uids;
	char **log; /* one line of a watch for each version after FAKE_FIRST */
	size_t n_log;
	struct kube_request *first;
	unsigned requests, writes, streams; /* so far; so far; now */
	/* Called before a writing of ours is applied to a node, with its body. */
	void (*seen)(void *context, const json_t *node, const json_t *patch);
	void *context;
};

void fake_init(struct kube *kube);
void fake_release(struct kube *kube);

/* How many requests wait, watches not counted. */
size_t fake_waiting(const struct kube *kube);

/* Answer the i-th of them. */
void fake_answer(struct kube *kube, size_t i, enum fake_fate fate);

/* Answer all until none waits. */
void fake_run(struct kube *kube);

/* The path and method of the i-th, "PATCH /api/v1/nodes/a". Borrowed. */
const char *fake_what(const struct kube *kube, size_t i);
const json_t *fake_body(const struct kube *kube, size_t i);

/* --- other hands --- */

void fake_add(struct kube *kube, const char *name);
void fake_delete(struct kube *kube, const char *name);

/* A merge patch by somebody: who sets spec.unschedulable owns it. */
void fake_patch(struct kube *kube, const char *name, const char *manager, json_t *patch);

/* The node, or NULL. Borrowed. */
json_t *fake_node(const struct kube *kube, const char *name);

/* Tell the watches of at most `n` changes that they have not heard of. */
void fake_tell(struct kube *kube, size_t n);
