/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many requests are under way at a time. Each needs a connection, and a burst on new ones takes
 * several times as long as the same burst one behind the other on a few that are kept.
 *
 * Whoever may not wait behind others has a lane of his own: Leases, for a leader that cannot renew
 * stops; cordons, for an eviction may hang in somebody's webhook. A turn waits in the order it
 * came, and never longer than its deadline.
 */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

#include "lib/base/macro.h"

struct err;
struct sd_event;
struct sd_event_source;

enum kube_lane {
	KUBE_LANE_FREE, /* nobody waits: watches, Leases */
	KUBE_LANE_EVICTIONS,
	KUBE_LANE_OTHERS,
	KUBE_LANES,
};

/* Most of a lane that run at a time. */
enum { KUBE_EVICTIONS_AT_ONCE = 8, KUBE_OTHERS_AT_ONCE = 16 };

/* Part of a request; zeroed at first. */
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

/* The lane of a request that is no watch. */
enum kube_lane kube_lane_of(const char *path);

/* `lanes` must not move afterwards; the two functions are set. */
int kube_lanes_init(struct kube_lanes *lanes, struct sd_event *loop, struct err *err);
void kube_lanes_release(struct kube_lanes *lanes); /* nobody waits or runs any more */

/* True: it runs. False: it waits, and `start` or `expired` is called. */
bool kube_lanes_enter(struct kube_lanes *lanes, struct kube_turn *turn, enum kube_lane lane,
		      uint64_t deadline_us);

/* It is over, or waits no more: the next may `start`. Nothing for one that is not in a lane. */
void kube_lanes_leave(struct kube_lanes *lanes, struct kube_turn *turn);

/* A turn that runs could not even begin: `expired` is called from the loop. */
void kube_lanes_fail(struct kube_lanes *lanes, struct kube_turn *turn);
