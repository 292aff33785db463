/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/flow_latency.h"

#include <errno.h>
#include <sched.h>

#include "lib/base/err.h"
#include "probes/rdma/flow_drive.h"
#include "probes/rdma/flow_watch.h"

enum { TRIPS_PER_LOOK = 16 }; /* round trips before the clock is read */

#define NSEC_PER_SEC 1e9

/* The clock that trips are timed with, and how long its ticks are. */
struct stopwatch {
	struct rdma_engine *engine;
	uint64_t begin_ns, begin_ticks;
};

static struct stopwatch stopwatch_start(struct rdma_engine *e)
{
	return (struct stopwatch){ .engine = e,
				   .begin_ns = e->ops->now_ns(e),
				   .begin_ticks = rdma_ticks(e) };
}

static double seconds_of_tick(const struct stopwatch *w)
{
	const struct rdma_ops *ops = w->engine->ops;
	uint64_t ns = ops->now_ns(w->engine) - w->begin_ns;
	uint64_t n = rdma_ticks(w->engine) - w->begin_ticks;

	return ops->ticks && n > 0 ? (double)ns / (double)n / NSEC_PER_SEC : 1 / NSEC_PER_SEC;
}

struct trips {
	struct drive drive;
	struct watch watch;
	uint64_t next;	      /* number of the next trip */
	uint64_t begin_ticks; /* of the current trip */
};

/* The value that marks the end of a trip: never 0, and different from the previous trip's. */
static unsigned char mark_of(const struct trips *t)
{
	return (unsigned char)(t->next % UINT8_MAX + 1);
}

/* Has the data of this trip arrived, and when? */
static bool is_there(const struct trips *t, uint64_t *ret_ticks)
{
	if (t->watch.runs && watch_saw(&t->watch, mark_of(t), t->begin_ticks, ret_ticks))
		return true;
	if (*t->drive.flow->lands != mark_of(t))
		return false;
	*ret_ticks = rdma_ticks(t->drive.flow->engine);
	return true;
}

/* Wait until this trip's mark is visible in memory, or its request failed. */
static int see(struct trips *t, uint64_t *ret_ticks, struct err *err)
{
	struct drive *d = &t->drive;
	unsigned polls = 0;
	int r = 0;

	while (r >= 0 && !is_there(t, ret_ticks) && d->result->status == RDMA_OK) {
		if (++polls % POLLS_PER_LOOK)
			continue;
		r = drive_reap(d, err);
		if (polls % (POLLS_PER_LOOK * LOOKS_PER_YIELD) == 0)
			(void)sched_yield();
		if (r == 0 && drive_now_us(d) >= d->deadline_us)
			return -ETIME;
	}
	return MIN(r, 0);
}

/* Wait until this trip's request completes or fails. */
static int acknowledge(struct trips *t, uint64_t *ret_ticks, struct err *err)
{
	int r = drive_await(&t->drive, err);

	*ret_ticks = rdma_ticks(t->drive.flow->engine);
	return MIN(r, 0);
}

/* One request, one way (with its acknowledgement back, if the data is not watched for). */
static int trip(struct trips *t, double *ret_ticks, struct err *err)
{
	struct drive *d = &t->drive;
	const struct flow *flow = d->flow;
	struct rdma_work work;
	uint64_t end = 0;
	int r;

	if (flow->lands)
		((unsigned char *)flow->local.at)[flow->size - 1] = mark_of(t);
	drive_work(d, &d->lanes[0], 1, &work);
	t->begin_ticks = rdma_ticks(flow->engine);
	r = drive_ring(d, &d->lanes[0], &work, 1, err);
	if (r == 0)
		r = flow->lands ? see(t, &end, err) : acknowledge(t, &end, err);
	*ret_ticks = (double)(end - t->begin_ticks);
	if (r < 0)
		d->result->left = true;
	t->next++;
	return r == 0 ? drive_drain(d, err) : r;
}

/* Clear the mark and start the watching thread, if any. */
static int prepare(struct trips *t, const struct flow *flow, const struct core_keep *keep,
		   struct err *err)
{
	t->watch = (struct watch){ .engine = flow->engine, .at = flow->lands };
	if (!flow->lands)
		return 0;
	*flow->lands = 0;
	return flow->watched ? watch_start(&t->watch, keep, err) : 0;
}

int flow_latency(const struct flow *flow, struct flow_trips *trips, uint64_t deadline_us,
		 struct flow_result *ret, struct err *err)
{
	struct stopwatch stopwatch = stopwatch_start(flow->engine);
	const size_t total = trips->warm + trips->n;
	struct trips t = { .next = 0 };
	struct core_keep keep = { .kept = false };
	double unit;
	size_t i;
	int r;

	drive_start(&t.drive, flow, deadline_us + FLOW_DRAIN_US, ret);
	t.drive.lanes[0].bytes = flow->size; /* always the same place */
	trips->made = 0;
	if (flow->stays || flow->watched)
		(void)core_keep(&keep);
	r = prepare(&t, flow, &keep, err);
	while (r == 0 && ret->status == RDMA_OK && t.next < total) {
		double taken;

		if (t.next % TRIPS_PER_LOOK == 0 && drive_now_us(&t.drive) >= deadline_us)
			break;
		r = trip(&t, &taken, err);
		if (r == 0 && ret->status == RDMA_OK && t.next > trips->warm)
			trips->seconds[trips->made++] = taken;
	}
	watch_stop(&t.watch);
	core_let_go(&keep);
	unit = seconds_of_tick(&stopwatch);
	for (i = 0; i < trips->made; i++)
		trips->seconds[i] *= unit;
	return r;
}
