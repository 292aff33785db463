/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_lanes.h"

#include <systemd/sd-event.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"

#define TIMER_ACCURACY_US (1 * USEC_PER_MSEC)

static const unsigned at_once[KUBE_LANES] = {
	[KUBE_LANE_FREE] = UINT32_MAX,
	[KUBE_LANE_EVICTIONS] = KUBE_EVICTIONS_AT_ONCE,
	[KUBE_LANE_OTHERS] = KUBE_OTHERS_AT_ONCE,
};

enum kube_lane kube_lane_of(const char *path)
{
	static const char eviction[] = "/eviction";
	const size_t len = strlen(path);

	if (starts_with(path, "/apis/coordination.k8s.io/"))
		return KUBE_LANE_FREE;
	if (len > strlen(eviction) && streq(path + len - strlen(eviction), eviction))
		return KUBE_LANE_EVICTIONS;
	return KUBE_LANE_OTHERS;
}

/* --- deadlines --- */

static void set_timer(struct kube_lanes *lanes)
{
	uint64_t next_us = UINT64_MAX;
	const struct kube_turn *turn;
	size_t i;

	for (i = 0; i < KUBE_LANES; i++) {
		TAILQ_FOREACH(turn, &lanes->waiting[i], link)
		next_us = MIN(next_us, turn->deadline_us);
	}
	(void)sd_event_source_set_time(lanes->timer, next_us);
	(void)sd_event_source_set_enabled(lanes->timer,
					  next_us == UINT64_MAX ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

static struct kube_turn *first_expired(struct kube_lanes *lanes, uint64_t now_us)
{
	struct kube_turn *turn;
	size_t i;

	for (i = 0; i < KUBE_LANES; i++) {
		TAILQ_FOREACH(turn, &lanes->waiting[i], link)
		{
			if (turn->deadline_us <= now_us)
				return turn;
		}
	}
	return NULL;
}

/* Callbacks may enter and leave: restart the search each time. */
static int on_timer(sd_event_source *source UNUSED, uint64_t timer_us UNUSED, void *context)
{
	struct kube_lanes *lanes = context;
	const uint64_t now_us = clock_mono_us();
	struct kube_turn *turn;

	while ((turn = first_expired(lanes, now_us))) {
		TAILQ_REMOVE(&lanes->waiting[turn->lane], turn, link);
		turn->state = KUBE_TURN_NONE;
		lanes->expired(turn);
	}
	set_timer(lanes);
	return 0;
}

/* --- turns --- */

static void wait_in(struct kube_lanes *lanes, struct kube_turn *turn, uint64_t deadline_us)
{
	turn->state = KUBE_TURN_WAITS;
	turn->deadline_us = deadline_us;
	TAILQ_INSERT_TAIL(&lanes->waiting[turn->lane], turn, link);
	set_timer(lanes);
}

static void run(struct kube_lanes *lanes, struct kube_turn *turn)
{
	turn->state = KUBE_TURN_RUNS;
	lanes->running[turn->lane]++;
}

bool kube_lanes_enter(struct kube_lanes *lanes, struct kube_turn *turn, enum kube_lane lane,
		      uint64_t deadline_us)
{
	turn->lane = lane;
	if (lanes->running[lane] >= at_once[lane] || !TAILQ_EMPTY(&lanes->waiting[lane])) {
		wait_in(lanes, turn, deadline_us);
		return false;
	}
	run(lanes, turn);
	return true;
}

static void start_next(struct kube_lanes *lanes, enum kube_lane lane)
{
	struct kube_turn *next = TAILQ_FIRST(&lanes->waiting[lane]);

	/* Expired ones are not started: the timer reports them. */
	while (next && next->deadline_us <= clock_mono_us())
		next = TAILQ_NEXT(next, link);
	if (!next || lanes->running[lane] >= at_once[lane])
		return;
	TAILQ_REMOVE(&lanes->waiting[lane], next, link);
	set_timer(lanes);
	run(lanes, next);
	lanes->start(next);
}

void kube_lanes_leave(struct kube_lanes *lanes, struct kube_turn *turn)
{
	const bool ran = turn->state == KUBE_TURN_RUNS;

	if (turn->state == KUBE_TURN_WAITS) {
		TAILQ_REMOVE(&lanes->waiting[turn->lane], turn, link);
		set_timer(lanes);
	}
	turn->state = KUBE_TURN_NONE;
	if (!ran)
		return;
	lanes->running[turn->lane]--;
	start_next(lanes, turn->lane);
}

void kube_lanes_fail(struct kube_lanes *lanes, struct kube_turn *turn)
{
	lanes->running[turn->lane]--;
	wait_in(lanes, turn, 0);
}

int kube_lanes_init(struct kube_lanes *lanes, struct sd_event *loop, struct err *err)
{
	size_t i;
	int r = sd_event_add_time(loop, &lanes->timer, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_US,
				  on_timer, lanes);

	if (r >= 0)
		r = sd_event_source_set_enabled(lanes->timer, SD_EVENT_OFF);
	for (i = 0; i < KUBE_LANES; i++)
		TAILQ_INIT(&lanes->waiting[i]);
	return r < 0 ? err_errno(err, -r, "cannot create a timer") : 0;
}

void kube_lanes_release(struct kube_lanes *lanes)
{
	(void)sd_event_source_disable_unref(lanes->timer);
	lanes->timer = NULL;
}
