/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The condition PREFIX/Healthy of every node that we have a verdict on. Changes are written at
 * once; an unchanged condition every five minutes, spread evenly over the nodes, so that an old
 * heartbeat shows that nobody is watching any more.
 *
 * lastTransitionTime changes only with the status: before the first write it is read from the node,
 * then it is remembered here.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "lib/base/macro.h"

struct kube;
struct kube_conditions;

enum {
	KUBE_CONDITIONS_AT_ONCE = 16, /* requests in flight */
	KUBE_CONDITIONS_LEAST = 64,   /* started per second, however few nodes there are */
};

#define KUBE_HEARTBEAT_US (5 * USEC_PER_MIN)

/* All borrowed while it is open. */
struct kube_conditions_options {
	struct kube *kube;
	uint64_t (*mono_us)(void), (*real_us)(void);
	const char *(*stopped)(void *context); /* why nothing may be written now; NULL: it may */
	void (*noted)(void *context, const json_t *raw); /* the node as a write left it */
	void *context;
};

struct kube_conditions *kube_conditions_new(const struct kube_conditions_options *options);

/* Answers pending calls with CLUSTER_AGAIN. */
void kube_conditions_free(struct kube_conditions *conditions);
DEFINE_CLEANUP(struct kube_conditions *, kube_conditions_free, kube_conditions_freep);

/* Set the condition. A pending call for a previous one is answered with CLUSTER_AGAIN. */
void kube_conditions_tell(struct kube_conditions *conditions,
			  const struct cluster_condition *condition,
			  const struct cluster_call *call);

/* The node no longer exists. */
void kube_conditions_gone(struct kube_conditions *conditions, const char *node);

/* Call it once a second. */
void kube_conditions_tick(struct kube_conditions *conditions);
