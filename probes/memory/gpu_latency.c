/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/gpu_latency.h"

#include "probes/memory/gpu_device.h"

/* Large copies before the measured ones: two of 32 MiB last 1.2 ms, and all launches 0.4 ms. */
enum { BEHIND_FIRST = 2, BEHIND_TIMES = 4, BEHIND_MAX = 32, COPIES = 16 };
/* The first run only loads what is needed. */
enum { RUNS = 2 };

/* Time of all launches on the host's clock, and of the large copies on the GPU's. */
struct took {
	double launch_s, behind_s;
};

static int put_copies(struct gpu_lane *l, unsigned n, uint64_t bytes, struct err *err)
{
	const struct accel_ops *ops = l->device->plan->ops;
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < n; i++)
		r = ops->copy(l->queue->stream, (struct accel_at){ l->to, 0 },
			      (struct accel_at){ l->from, 0 }, bytes, err);
	return r;
}

/* Put a mark before the large copies, and one before and after each window of small ones. */
static int put_all(struct gpu_lane *l, unsigned behind, struct err *err)
{
	const struct accel_ops *ops = l->device->plan->ops;
	struct gpu_queue *q = l->queue;
	unsigned i;
	int r = ops->event_record(q->marks[0], q->stream, err);

	if (r == 0)
		r = put_copies(l, behind, l->device->plan->copy_bytes, err);
	for (i = 0; r == 0 && i < GPU_LATENCY_WINDOWS; i++) {
		r = ops->event_record(q->marks[1 + i], q->stream, err);
		if (r == 0)
			r = put_copies(l, COPIES, l->bytes, err);
	}
	return r < 0 ? r : ops->event_record(q->marks[1 + GPU_LATENCY_WINDOWS], q->stream, err);
}

static int run_once(struct gpu_lane *l, unsigned behind, uint64_t last_us, struct took *ret,
		    struct err *err)
{
	const struct gpu_plan *plan = l->device->plan;
	const uint64_t start_ns = plan->ops->now_ns(plan->accel);
	struct accel_event *const *marks = l->queue->marks;
	unsigned i;
	int r = put_all(l, behind, err);

	ret->launch_s = (double)(plan->ops->now_ns(plan->accel) - start_ns) * 1e-9;
	if (r == 0)
		r = plan->ops->stream_wait(l->queue->stream, last_us, err);
	if (r == 0)
		r = plan->ops->event_seconds(marks[0], marks[1], &ret->behind_s, err);
	for (i = 0; r == 0 && i < GPU_LATENCY_WINDOWS; i++) {
		r = plan->ops->event_seconds(marks[1 + i], marks[2 + i], &l->rates[i], err);
		l->rates[i] /= COPIES;
	}
	l->n_rates = r == 0 ? i : 0;
	return r;
}

void gpu_latency_run(struct gpu_job *job, uint64_t last_us)
{
	struct gpu_lane *l = &job->lanes[0];
	struct err err = ERR_INIT;
	unsigned behind = BEHIND_FIRST, i;
	int r = 0;

	job->bound = true;
	for (i = 0; r == 0 && (i < RUNS || job->bound); i++) {
		struct took took = { 0 };

		r = run_once(l, behind, last_us, &took, &err);
		job->bound = took.launch_s >= took.behind_s;
		if (job->bound && behind == BEHIND_MAX)
			break;
		if (job->bound)
			behind = MIN(BEHIND_TIMES * behind, (unsigned)BEHIND_MAX);
	}
	if (r < 0)
		gpu_fail(l->device, r, &err);
}
