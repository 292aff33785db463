/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of a node, as shown at the end of `kubectl describe node` (core/v1, since 1.20), and in
 * the namespace of a job, as shown by `kubectl get events`. Best effort: nobody waits for them, the
 * queue and the memory of past events are limited, a node has a burst of 25 and then one per 5 min,
 * and one that could not be sent a few times is dropped.
 *
 * A repeated event within the hour that a server keeps one increments its count; if the server has
 * deleted it, a new one is created.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "lib/base/macro.h"

struct kube;
struct kube_events;

enum {
	KUBE_EVENTS_MAX = 2048,	       /* remembered */
	KUBE_EVENT_NODES_MAX = 4096,   /* nodes whose rate is remembered */
	KUBE_EVENT_BURST = 25,	       /* per node */
	KUBE_EVENT_TRIES_MAX = 5,      /* per write */
	KUBE_EVENTS_AT_ONCE = 4,       /* requests in flight */
	KUBE_EVENT_NAME_SIZE = 253 + 1 /* name of the object */
};

/* All borrowed while it is open. */
struct kube_events_options {
	struct kube *kube;
	uint64_t (*mono_us)(void), (*real_us)(void);
	const char *(*stopped)(void *context); /* why nothing may be written now; NULL: it may */
	void *context;
};

struct kube_events *kube_events_new(const struct kube_events_options *options);
void kube_events_free(struct kube_events *events);
DEFINE_CLEANUP(struct kube_events *, kube_events_free, kube_events_freep);

/* `uid` of the node; NULL: unknown. */
void kube_events_tell(struct kube_events *events, const struct cluster_event *event,
		      const char *uid);

/* Call it once a second. */
void kube_events_tick(struct kube_events *events);

/* Number of events dropped, by the rate limit or because they could not be sent. */
uint64_t kube_events_lost(const struct kube_events *events);

/* --- pure --- */

/* An Event; times in real time. Borrowed. */
struct kube_event {
	const char *name, *node, *uid, *reason, *message;
	bool warning;
	bool owner; /* `node` is a namespace: for the owner of a job in it */
	uint64_t first_us, last_us;
	unsigned count;
};

/* The whole object, and the strategic merge patch for a repetition. New references. */
json_t *kube_event_body(const struct kube_event *event);
json_t *kube_event_repeat(const struct kube_event *event);

/* A unique name: that of the node with the time and a number. */
void kube_event_name(char ret[static KUBE_EVENT_NAME_SIZE], const char *node, uint64_t real_us,
		     unsigned number);
