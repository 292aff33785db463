/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits the number of requests in flight. Each needs a connection, and a burst over new
 * connections takes several times as long as the same requests in sequence over a few open ones.
 *
 * What must not wait behind others has a lane of its own: Leases, as a leader that cannot renew
 * stops; and cordons, as an eviction may hang in a webhook. Turns are served in order, up to their
 * deadline.
 */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "lib/base/macro.h"

struct err;
struct sd_event;
struct sd_event_source;

enum kube_lane {
	KUBE_LANE_FREE, /* no limit: watches, Leases */
	KUBE_LANE_EVICTIONS,
	KUBE_LANE_OTHERS,
	KUBE_LANES,
};

/* Requests in flight per lane. */
enum { KUBE_EVICTIONS_AT_ONCE = 8, KUBE_OTHERS_AT_ONCE = 16 };

/* Embedded in a request; initially zero. */
struct kube_turn {
	TAILQ_ENTRY(kube_turn) link;
	enum { KUBE_TURN_NONE, KUBE_TURN_WAITS, KUBE_TURN_RUNS } state;
	enum kube_lane lane;
	uint64_t deadline_us;
};

struct kube_lanes {
	TAILQ_HEAD(, kube_turn) waiting[KUBE_LANES];
	unsigned running[KUBE_LANES];
	struct sd_event_source *timer;		 /* owned */
	void (*start)(struct kube_turn *turn);	 /* its turn has come */
	void (*expired)(struct kube_turn *turn); /* from the loop: it waited too long */
};

/* The lane of a request other than a watch. */
enum kube_lane kube_lane_of(const char *path);

/* `lanes` must not be moved afterwards; the caller sets the two functions. */
int kube_lanes_init(struct kube_lanes *lanes, struct sd_event *loop, struct err *err);
void kube_lanes_release(struct kube_lanes *lanes); /* must be empty */

/* Returns true if it may run; false if it waits, and `start` or `expired` will be called. */
bool kube_lanes_enter(struct kube_lanes *lanes, struct kube_turn *turn, enum kube_lane lane,
		      uint64_t deadline_us);

/* It has finished or no longer waits: the next may `start`. Does nothing if it is not in a lane. */
void kube_lanes_leave(struct kube_lanes *lanes, struct kube_turn *turn);

/* A turn that runs could not be started: calls `expired` from the loop. */
void kube_lanes_fail(struct kube_lanes *lanes, struct kube_turn *turn);
