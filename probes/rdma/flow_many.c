/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/flow_many.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/rdma/core_keep.h"
#include "probes/rdma/flow_drive.h"

/* Divisor of the time until the deadline: the part kept for draining. */
enum { DRAIN_PART = 10 };

/* Rounds over all flows without a completion before the core is yielded. */
enum { TURNS_PER_YIELD = 256 };

#define WINDOW_US UINT64_C(25000)

/* Two-sided 95 % quantiles of Student's t for 7 to 31 degrees of freedom. */
static const double student[FLOW_WINDOWS_MAX - FLOW_WINDOWS_MIN + 1] = {
	2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093,
	2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042, 2.040,
};

/* One flow and its current window. */
struct runner {
	struct drive drive;
	struct flow_one *one;
	bool counts;
	uint64_t begin_us, from_us;
	uint64_t first_bytes, from_bytes;
};

bool flow_is_stable(const double *windows, size_t n, double part)
{
	double sum = 0, squares = 0, mean;
	size_t i;

	if (n < FLOW_WINDOWS_MIN || n > FLOW_WINDOWS_MAX)
		return false;
	for (i = 0; i < n; i++)
		sum += windows[i];
	mean = sum / (double)n;
	for (i = 0; i < n; i++)
		squares += (windows[i] - mean) * (windows[i] - mean);
	return student[n - FLOW_WINDOWS_MIN] * sqrt(squares / (double)(n - 1) / (double)n) <=
	       part * mean;
}

void flow_time_set_windows(struct flow_time *time, uint64_t count_us)
{
	uint64_t n = MIN(MAX(count_us / WINDOW_US, (uint64_t)FLOW_WINDOWS_MIN),
			 (uint64_t)FLOW_WINDOWS_MAX);

	time->windows = n;
	time->window_us = count_us / n;
}

static bool is_alive(const struct runner *r)
{
	return r->one->error == 0 && r->one->result.status == RDMA_OK;
}

/* Called at a completion of the flow: the first after the warm-up, or one that may end a window. */
static void look(struct runner *r, const struct flow_time *time, uint64_t now_us)
{
	struct flow_result *result = &r->one->result;

	if (!r->counts) {
		r->counts = true;
		r->begin_us = r->from_us = now_us;
		r->first_bytes = r->from_bytes = r->drive.done_bytes;
		return;
	}
	if (now_us < r->from_us + time->window_us || now_us == r->from_us ||
	    result->n == time->windows)
		return;
	result->windows[result->n++] = (double)(r->drive.done_bytes - r->from_bytes) *
				       USEC_PER_SEC / (double)(now_us - r->from_us);
	r->from_us = now_us;
	r->from_bytes = r->drive.done_bytes;
	result->bytes = r->from_bytes - r->first_bytes;
	result->seconds = (double)(now_us - r->begin_us) / USEC_PER_SEC;
}

/* A single flow may sleep; with several, none waits while another has work. Returns completions. */
static int drive_once(struct runner *r, bool alone, const struct flow_time *time,
		      uint64_t warm_end_us)
{
	struct err *err = &r->one->err;
	int n = alone ? drive_advance(&r->drive, err) : drive_turn(&r->drive, err);
	uint64_t now_us;

	r->one->error = MIN(n, 0);
	if (n < 0 || (n == 0 && !alone))
		return 0;
	now_us = drive_now_us(&r->drive);
	if (now_us >= warm_end_us)
		look(r, time, now_us);
	return n + alone;
}

static bool is_done(const struct runner *r, const struct flow_time *time)
{
	const struct flow_result *result = &r->one->result;

	return !is_alive(r) || result->n == time->windows ||
	       (!time->until_done && flow_is_stable(result->windows, result->n, FLOW_STABLE));
}

static bool all_done(const struct runner *runners, size_t n, const struct flow_time *time)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!is_done(&runners[i], time))
			return false;
	}
	return true;
}

/* Can all flows sleep in one call? */
static bool can_sleep(const struct runner *runners, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (runners[i].drive.flow->wait != FLOW_EVENTS)
			return false;
	}
	return n > 1 && runners[0].drive.ops->wait_any;
}

/*
 * Sleep until some of the live flows have something; `ret_ready` has their bits. -ETIME at the end.
 */
static int sleep_all(struct runner *runners, size_t n, uint64_t end_us, uint64_t *ret_ready)
{
	struct rdma_queue *queues[FLOW_MANY_MAX] = { NULL };
	size_t who[FLOW_MANY_MAX], n_alive = 0, i;
	uint64_t ready = 0;
	int r;

	for (i = 0; i < n; i++) {
		if (!is_alive(&runners[i]))
			continue;
		who[n_alive] = i;
		queues[n_alive++] = runners[i].drive.flow->queues[0];
	}
	r = runners[0].drive.ops->wait_any(queues, n_alive, end_us, &ready, &runners[0].one->err);
	*ret_ready = 0;
	for (i = 0; r == 0 && i < n_alive; i++) {
		if (ready >> i & 1)
			*ret_ready |= UINT64_C(1) << who[i];
	}
	if (r < 0 && r != -ETIME)
		runners[0].one->error = r;
	return r;
}

static void count(struct runner *runners, size_t n, const struct flow_time *time)
{
	uint64_t begin_us = drive_now_us(&runners[0].drive), ready = UINT64_MAX;
	uint64_t end_us = time->deadline_us - (time->deadline_us - begin_us) / DRAIN_PART;
	bool sleeps = can_sleep(runners, n);
	unsigned in_vain = 0;
	size_t i;
	int r = 0;

	while (r == 0 && !all_done(runners, n, time) && drive_now_us(&runners[0].drive) < end_us) {
		int total = 0;

		if (sleeps)
			r = sleep_all(runners, n, end_us, &ready);
		for (i = 0; r == 0 && i < n; i++) {
			if (is_alive(&runners[i]) && ready >> i & 1)
				total += drive_once(&runners[i], n == 1, time,
						    begin_us + time->warm_us);
		}
		/* Software devices need CPU time to make progress. */
		in_vain = total > 0 ? 0 : in_vain + 1;
		if (!sleeps && in_vain >= TURNS_PER_YIELD)
			(void)sched_yield();
	}
}

/* Drain: a dead path only reports an error after all its retries, possibly past the end. */
static void finish(struct runner *r, uint64_t deadline_us)
{
	struct flow_one *one = r->one;

	if (one->result.status != RDMA_OK || (one->error < 0 && one->error != -ETIME)) {
		one->result.left = true;
		return;
	}
	r->drive.deadline_us = deadline_us;
	one->error = drive_drain(&r->drive, &one->err);
	if (is_alive(r) && one->result.n == 0)
		one->error = -ETIME;
}

static bool all_stay(const struct flow_one *ones, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!ones[i].flow->stays)
			return false;
	}
	return true;
}

void flow_run_many(struct flow_one *ones, size_t n, const struct flow_time *time)
{
	CLEANUP(freep) struct runner *runners = xcalloc(n, sizeof(*runners));
	struct core_keep keep = { .kept = false };
	uint64_t end_us;
	size_t i;

	if (all_stay(ones, n))
		(void)core_keep(&keep);
	for (i = 0; i < n; i++) {
		runners[i].one = &ones[i];
		ones[i].err = (struct err)ERR_INIT;
		drive_start(&runners[i].drive, ones[i].flow, time->deadline_us, &ones[i].result);
		ones[i].error = drive_fill(&runners[i].drive, &ones[i].err);
	}
	count(runners, n, time);
	end_us = drive_now_us(&runners[0].drive) + FLOW_DRAIN_US;
	for (i = 0; i < n; i++)
		finish(&runners[i], end_us);
	core_let_go(&keep);
}
