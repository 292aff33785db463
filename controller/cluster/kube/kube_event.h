/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `kubectl describe node` shows at its end: Events of a node, core/v1, as the
 * server has shown them since 1.20; and what `kubectl get events` shows in the namespace of a job.
 * Best effort: nobody waits for one, the queue and the memory of what was told are bounded, a node
 * has 25 at once and then one in 5 min, and what could not be sent a few times is forgotten.
 *
 * The same again within the hour that a server keeps one raises its count; a server
 * that has forgotten it already gets a new one.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "lib/base/macro.h"

struct kube;
struct kube_events;

enum {
	KUBE_EVENTS_MAX = 2048,	       /* told and remembered */
	KUBE_EVENT_NODES_MAX = 4096,   /* whose rate is remembered */
	KUBE_EVENT_BURST = 25,	       /* of one node at once */
	KUBE_EVENT_TRIES_MAX = 5,      /* of one writing */
	KUBE_EVENTS_AT_ONCE = 4,       /* under way */
	KUBE_EVENT_NAME_SIZE = 253 + 1 /* of its object */
};

/* All borrowed for as long as it is there. */
struct kube_events_options {
	struct kube *kube;
	uint64_t (*mono_us)(void), (*real_us)(void);
	const char *(*stopped)(void *context); /* why nothing may be written now; NULL: it may */
	void *context;
};

struct kube_events *kube_events_new(const struct kube_events_options *options);
void kube_events_free(struct kube_events *events);
DEFINE_CLEANUP(struct kube_events *, kube_events_free, kube_events_freep);

/* `uid` of the node; NULL: not known. */
void kube_events_tell(struct kube_events *events, const struct cluster_event *event,
		      const char *uid);

/* Time has passed. Once a second is enough. */
void kube_events_tick(struct kube_events *events);

/* How many were left out: by the rate, or because they could not be sent. */
uint64_t kube_events_lost(const struct kube_events *events);

/* --- pure --- */

/* What an Event is about; stamps in real time. Borrowed. */
struct kube_event {
	const char *name, *node, *uid, *reason, *message;
	bool warning;
	bool owner; /* `node` is a namespace: it is for whoever owns a job there */
	uint64_t first_us, last_us;
	unsigned count;
};

/* The whole object, and the strategic merge patch of one that was told again. New references. */
json_t *kube_event_body(const struct kube_event *event);
json_t *kube_event_repeat(const struct kube_event *event);

/* A name that no other event has: the node's with the time and a number in it. */
void kube_event_name(char ret[static KUBE_EVENT_NAME_SIZE], const char *node, uint64_t real_us,
		     unsigned number);
