/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/flow.h"

#include <errno.h>
#include <sched.h>

#include "lib/base/err.h"
#include "probes/rdma/flow_drive.h"
#include "probes/rdma/flow_sink.h"

enum {
	NSEC_PER_USEC = 1000,
	LANE_SHIFT = 32, /* of a request id: the lane is above, the number of requests below */
};

#define COUNT_MASK UINT32_MAX

uint64_t drive_now_us(const struct drive *d)
{
	return d->ops->now_ns(d->flow->engine) / NSEC_PER_USEC;
}

int flow_open(struct flow *flow, struct rdma_device *device,
	      const struct rdma_queue_options *options, size_t n, struct err *err)
{
	struct rdma_queue_options o = *options;
	int r = 0;

	flow->n_queues = 0;
	o.with = NULL;
	o.sharers = (unsigned)n;
	while (r == 0 && flow->n_queues < n) {
		r = flow->engine->ops->queue_open(device, &o, &flow->queues[flow->n_queues], err);
		if (r == 0)
			flow->n_queues++;
		o.with = flow->queues[0];
	}
	if (r < 0)
		flow_close(flow);
	return r;
}

void flow_close(struct flow *flow)
{
	while (flow->n_queues > 0)
		flow->engine->ops->queue_close(flow->queues[--flow->n_queues]);
}

uint64_t flow_part(const struct flow *flow)
{
	return flow->local.bytes / flow->n_queues / flow->size * flow->size;
}

void drive_start(struct drive *d, const struct flow *flow, uint64_t deadline_us,
		 struct flow_result *ret)
{
	uint64_t part = flow_part(flow);
	size_t i;

	*ret = (struct flow_result){ .status = RDMA_OK };
	*d = (struct drive){
		.flow = flow, .ops = flow->engine->ops, .result = ret, .deadline_us = deadline_us
	};
	for (i = 0; i < flow->n_queues; i++)
		d->lanes[i] =
			(struct lane){ .queue = flow->queues[i], .base = i * part, .bytes = part };
}

void drive_work(struct drive *d, struct lane *lane, unsigned n, struct rdma_work *ret)
{
	const struct flow *flow = d->flow;
	const uint64_t id = (uint64_t)(lane - d->lanes) << LANE_SHIFT | n;
	unsigned i;

	for (i = 0; i < n; i++) {
		ret[i] = (struct rdma_work){
			.opcode = flow->opcode,
			.id = id,
			.local = (char *)flow->local.at + lane->base + lane->at,
			.lkey = flow->local.lkey,
			.length = flow->size,
			.remote = flow->remote + lane->base + lane->at,
			.rkey = flow->rkey,
			.signalled = i == n - 1,
			.inlined = flow->inlined,
		};
		lane->at = lane->at + 2 * flow->size > lane->bytes ? 0 : lane->at + flow->size;
	}
}

int drive_ring(struct drive *d, struct lane *lane, const struct rdma_work *work, unsigned n,
	       struct err *err)
{
	int r = d->ops->post(lane->queue, work, n, err);

	if (r < 0)
		return r;
	lane->outstanding += n;
	lane->posted += n;
	d->result->requests += n;
	d->result->doorbells++;
	return 0;
}

static int post(struct drive *d, struct lane *lane, unsigned n, struct err *err)
{
	struct rdma_work work[RDMA_BATCH_MAX];

	drive_work(d, lane, n, work);
	return drive_ring(d, lane, work, n, err);
}

int drive_fill(struct drive *d, struct err *err)
{
	const struct flow *flow = d->flow;
	size_t i;
	int r = flow->sink ? sink_turn(flow->sink, err) : 0;

	for (i = 0; r == 0 && i < flow->n_queues; i++) {
		while (r == 0 && d->lanes[i].outstanding + flow->batch <= flow->depth)
			r = post(d, &d->lanes[i], flow->batch, err);
	}
	return r;
}

static void count(struct drive *d, const struct rdma_done *done)
{
	unsigned n = (unsigned)(done->id & COUNT_MASK);
	size_t lane = done->id >> LANE_SHIFT;

	if (done->status != RDMA_OK) {
		if (d->result->status == RDMA_OK) {
			d->result->status = done->status;
			d->result->failed = *done;
		}
		return;
	}
	d->result->answered = true;
	if (lane >= d->flow->n_queues)
		return;
	d->lanes[lane].outstanding -= MIN(n, d->lanes[lane].outstanding);
	d->done_bytes += (uint64_t)n * d->flow->size;
}

int drive_reap(struct drive *d, struct err *err)
{
	struct rdma_done done[RDMA_BATCH_MAX];
	int n = d->ops->poll(d->lanes[0].queue, done, ARRAY_SIZE(done), err), i;

	for (i = 0; i < n; i++)
		count(d, &done[i]);
	if (n > 0)
		d->result->completions += (uint64_t)n;
	d->result->empty_polls += n == 0;
	return n;
}

/* Poll for a while, until a completion. */
static int spin(struct drive *d, struct err *err)
{
	int n = 0, i;

	for (i = 0; n == 0 && i < POLLS_PER_LOOK; i++)
		n = drive_reap(d, err);
	d->looks = n == 0 ? d->looks + 1 : 0;
	/* A software device needs CPU time to make progress. */
	if (d->looks >= LOOKS_PER_YIELD)
		(void)sched_yield();
	return n;
}

/* Sleep until a completion. The poll after arming the event may find nothing. */
static int doze(struct drive *d, struct err *err)
{
	int r = d->ops->wait(d->lanes[0].queue, d->deadline_us, err);

	return r < 0 ? r : drive_reap(d, err);
}

/* Refill every lane after `n` completions. Returns `n` or a negative errno. */
static int refill(struct drive *d, int n, struct err *err)
{
	int r = n > 0 && d->result->status == RDMA_OK ? drive_fill(d, err) : 0;

	return r < 0 ? r : n;
}

int drive_turn(struct drive *d, struct err *err)
{
	return refill(d, drive_reap(d, err), err);
}

int drive_await(struct drive *d, struct err *err)
{
	int n = 0;

	while (n == 0 && d->result->status == RDMA_OK) {
		n = d->flow->wait == FLOW_EVENTS ? doze(d, err) : spin(d, err);
		if (n == 0 && drive_now_us(d) >= d->deadline_us)
			return -ETIME;
	}
	return n;
}

int drive_advance(struct drive *d, struct err *err)
{
	return MIN(0, refill(d, drive_await(d, err), err));
}

int drive_drain(struct drive *d, struct err *err)
{
	size_t i;
	int r = 0;

	for (i = 0; i < d->flow->n_queues; i++) {
		while (r == 0 && d->lanes[i].outstanding > 0 && d->result->status == RDMA_OK)
			r = MIN(0, drive_await(d, err));
	}
	d->result->left = r < 0 || d->result->status != RDMA_OK;
	d->result->covered = d->lanes[0].bytes;
	for (i = 0; i < d->flow->n_queues; i++)
		d->result->covered = MIN(d->result->covered, d->lanes[i].posted * d->flow->size);
	return r;
}
