/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/xalloc.h"
#include "probes/all_to_all/all_to_all.h"

/* Part of a GPU's memory that its two buffers may take. */
enum { MEMORY_PART = 8, BUFFERS = 2 };

static int open_devices(struct all_to_all *t, struct err *err)
{
	struct accel *a = t->plan->accel;
	uint64_t most = t->plan->size;
	unsigned i;

	t->n = MIN(a->ops->n_devices(a), (unsigned)COLL_RANKS_MAX);
	if (t->n < 2)
		return err_set(err, ENODEV, "an all-to-all needs two GPUs at least: there is %u",
			       t->n);
	for (i = 0; i < t->n; i++) {
		struct accel_device_info *info = &t->devices[i];
		int r = a->ops->device_info(a, i, info, err);

		if (r < 0)
			return r;
		most = MIN(most, info->memory_bytes / (MEMORY_PART * BUFFERS));
	}
	t->bytes = most / (16 * t->n) * 16 * t->n;
	return 0;
}

/* One GPU that others use spoils the operation of all. */
static void look_busy(struct all_to_all *t)
{
	struct accel *a = t->plan->accel;
	unsigned i;

	for (i = 0; i < t->n && !t->busy[0]; i++) {
		char command[64] = "";
		double share = 0;
		long pid = 0;

		if (a->ops->others(a, i, &pid, command, &share, NULL) == 0 && pid)
			(void)snprintf(t->busy, sizeof(t->busy), "pid %ld (%s) computes on %s", pid,
				       command, t->devices[i].subject);
	}
}

static int tell_busy(struct all_to_all *t)
{
	static const char *const checks[] = { "all_to_all.busbw", "all_to_all.correct" };
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < ARRAY_SIZE(checks); i++) {
		struct sample s = all_to_all_sample(t, checks[i], ALL_TO_ALL_SUBJECT, t->bytes);

		s.state = SAMPLE_BUSY;
		s.note = xstrdup(t->busy);
		r = all_to_all_emit(t, &s);
	}
	return r;
}

static int measure(struct all_to_all *t)
{
	int r = all_to_all_verify(t);

	if (r == 0 && !t->over)
		r = all_to_all_rate(t);
	if (r == 0 && !t->over && (t->plan->full || t->suspect[0]))
		r = all_to_all_pairs(t);
	/* Known even when a pair did not end. */
	if (r == 0 && t->total.n)
		r = all_to_all_emit(t, &t->total);
	return r;
}

static void release(struct all_to_all *t)
{
	sample_release(&t->total);
	free(t->pairs);
	if (t->coll)
		t->coll->ops->close(t->coll);
}

int all_to_all_run(struct all_to_all_plan *plan, struct err *err)
{
	CLEANUP(release) struct all_to_all t = { .plan = plan, .total = sample_init() };
	struct nccl_setup setup = {
		.library = &plan->library,
		.accel = plan->accel,
		.deadline_us = MIN(plan->accel->ops->now_us(plan->accel) + NCCL_READY_US,
				   plan->deadline_us),
	};
	struct err why = ERR_INIT;
	int r = open_devices(&t, err);

	if (r < 0)
		return r;
	look_busy(&t);
	if (t.busy[0] && !plan->run_busy)
		r = tell_busy(&t);
	else
		r = all_to_all_links(&t);
	if (r < 0 || (t.busy[0] && !plan->run_busy))
		return r < 0 ? err_errno(err, -r, "cannot print samples") : 0;
	setup.n = t.n;
	setup.bytes = t.bytes;
	r = nccl_coll_new(&setup, &t.coll, &why);
	r = r < 0 ? all_to_all_tell_failure(&t, r, why.msg) : measure(&t);
	return r < 0 ? err_errno(err, -r, "cannot print samples") : 0;
}
