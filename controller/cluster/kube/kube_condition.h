/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The condition PREFIX/Healthy of every node that we say something about. What
 * changed is written at once; the same again every five minutes, spread evenly over the nodes, so
 * that whoever reads an old heartbeat knows that nobody watches any more.
 *
 * lastTransitionTime changes only with the status: before the first writing the
 * condition is read from the node, after that it is known here.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "lib/base/macro.h"

struct kube;
struct kube_conditions;

enum {
	KUBE_CONDITIONS_AT_ONCE = 16, /* requests under way */
	KUBE_CONDITIONS_LEAST = 64,   /* begun in one second, however few nodes there are */
};

#define KUBE_HEARTBEAT_US (5 * USEC_PER_MIN)

/* All borrowed for as long as it is there. */
struct kube_conditions_options {
	struct kube *kube;
	uint64_t (*mono_us)(void), (*real_us)(void);
	const char *(*stopped)(void *context); /* why nothing may be written now; NULL: it may */
	void (*noted)(void *context, const json_t *raw); /* the node as a writing left it */
	void *context;
};

struct kube_conditions *kube_conditions_new(const struct kube_conditions_options *options);

/* Who waits is answered CLUSTER_AGAIN. */
void kube_conditions_free(struct kube_conditions *conditions);
DEFINE_CLEANUP(struct kube_conditions *, kube_conditions_free, kube_conditions_freep);

/* From now on it is so. Who waited for another to be told is answered CLUSTER_AGAIN. */
void kube_conditions_tell(struct kube_conditions *conditions,
			  const struct cluster_condition *condition,
			  const struct cluster_call *call);

/* There is no such node any more. */
void kube_conditions_gone(struct kube_conditions *conditions, const char *node);

/* Time has passed. Once a second. */
void kube_conditions_tick(struct kube_conditions *conditions);
