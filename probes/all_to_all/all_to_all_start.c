/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_to_all/all_to_all_start.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/accel/watch.h"
#include "probes/all_to_all/all_to_all_gpus.h"
#include "probes/all_to_all/all_to_all_options.h"
#include "probes/all_to_all/all_to_all_rnics.h"
#include "probes/coll/nccl_load.h"
#include "probes/rnic_pair/pair_plan.h"

static const double end_part = 0.1;
/*
 * All GPUs must be ready by this part of the budget, to leave time for communicators and measuring.
 */
static const double ready_part = 0.5;

/*
 * A hang is aborted and then examined; with a short budget this may take at most this part of it.
 */
static const double hang_part = 0.4;
#define HANG_US ((uint64_t)NCCL_ABORT_US + NCCL_DRAIN_US)

static const struct all_to_all_options *options_of(const struct probe *probe)
{
	return probe->options;
}

struct all_to_all_plan *all_to_all_plan_new(struct probe *probe)
{
	const struct all_to_all_options *o = options_of(probe);
	struct all_to_all_plan *plan = xcalloc(1, sizeof(*plan));

	plan->size = o->size;
	plan->seed = probe->seed;
	plan->full = !o->quick;
	plan->run_busy = probe->run_busy;
	plan->begin_us = clock_mono_us();
	plan->deadline_us = probe->deadline_us - (uint64_t)(end_part * (double)probe->budget_us);
	plan->epoch_us = (int64_t)clock_real_us() - (int64_t)clock_mono_us();
	plan->known = (double)NAN;
	plan->emit = probe_emit_of;
	plan->context = probe;
	return plan;
}

int all_to_all_with_known(struct all_to_all_plan *plan, const char *key,
			  int (*work)(struct all_to_all_plan *plan, struct err *err),
			  struct err *err)
{
	struct probe *probe = plan->context;
	CLEANUP(json_freep) json_t *known = probe_load(probe, true);
	json_t *best = json_object_get(known, key);
	struct err ignored = ERR_INIT;
	int r;

	plan->known = best ? json_number_value(best) : (double)NAN;
	r = work(plan, err);
	if (r == 0 && !isnan(plan->known) && !plan->run_busy) {
		(void)json_object_set_new(known, key, json_real(plan->known));
		(void)probe_save(probe, known, &ignored);
	}
	return r;
}

/* --- GPUs --- */

static int measure_gpus(void *context, struct err *err)
{
	return all_to_all_run_gpus(context, err);
}

static int tell_blocked(struct all_to_all_plan *plan, struct err *err)
{
	struct sample s = sample_init();
	int r;

	s.check = xstrdup(plan->kind->busbw);
	s.unit = xstrdup("B/s");
	s.better = BETTER_HIGHER;
	r = accel_blocked(plan->accel, &s, err);
	if (s.subject)
		(void)plan->emit(plan->context, &s);
	sample_release(&s);
	return r;
}

/* A thread that hangs keeps the plan. */
static int watch_gpus(struct all_to_all_plan *plan, struct err *err)
{
	const struct probe *probe = plan->context;
	const uint64_t left_us = probe->deadline_us - plan->deadline_us;
	/* Before our parent kills us. */
	const uint64_t until_us = plan->deadline_us + left_us / 2;
	const uint64_t hang_us =
		MIN((uint64_t)(hang_part * (double)probe->budget_us), (uint64_t)HANG_US);
	int r;

	plan->deadline_us = MIN(plan->deadline_us, until_us - hang_us);
	r = accel_watch(measure_gpus, plan, until_us, err);
	return r == -ETIMEDOUT ? tell_blocked(plan, err) : r;
}

static int run_gpus(struct all_to_all_plan *plan, struct err *err)
{
	/* What must be equal for the best value so far to be comparable. */
	CLEANUP(freep)
	char *key = xasprintf("%s, %s, %u GPUs, %llu bytes", plan->library.version,
			      plan->accel->ops->version(plan->accel),
			      plan->accel->ops->n_devices(plan->accel),
			      (unsigned long long)plan->size);

	return all_to_all_with_known(plan, key, watch_gpus, err);
}

int all_to_all_start_gpus(struct probe *probe, struct err *err)
{
	static const struct accel_ops *const engines[] = { &accel_cuda_copy_ops, NULL };
	const struct accel_ops *ops;
	struct all_to_all_plan *plan;
	int r = accel_choose("cuda", engines, &ops, err);

	if (r < 0)
		return r;
	plan = all_to_all_plan_new(probe);
	plan->kind = &all_to_all_gpus;
	/* GPUs that cannot be driven, or a missing NCCL, mean there is nothing to measure here. */
	r = accel_open_watched(ops, probe->deadline_us - probe->budget_us / 10, &plan->accel, err);
	if (r == 0) {
		/* Destroying contexts and communicators takes seconds, and nobody needs it. */
		accel_leave_at_once();
		plan->leaves = true;
		plan->ready_us = probe->deadline_us -
				 (uint64_t)((1 - ready_part) * (double)probe->budget_us);
		r = nccl_load(&plan->library, err);
	}
	if (r == 0)
		r = run_gpus(plan, err);
	if (!plan->leaves && r != -ETIMEDOUT)
		free(plan);
	return r == -ENOTSUP ? -ENODEV : r;
}

/* --- RNICs --- */

static int run_rnics(struct all_to_all_plan *plan, struct err *err)
{
	CLEANUP(freep)
	char *key = xasprintf("verbs, %zu ports, %llu bytes, depth %u, mtu %u", plan->ports->n_sides,
			      (unsigned long long)plan->size, plan->depth, plan->mtu);

	return all_to_all_with_known(plan, key, all_to_all_run_rnics, err);
}

int all_to_all_start_rnics(struct probe *probe, struct err *err)
{
	const struct all_to_all_options *o = options_of(probe);
	CLEANUP(freep) struct pair_plan *ports = xcalloc(1, sizeof(*ports));
	CLEANUP(freep) struct all_to_all_plan *plan = all_to_all_plan_new(probe);
	int r;

	ports->probe = probe;
	ports->engine = all_to_all_rdma();
	if (!ports->engine)
		return err_set(err, ENODEV, "built without libibverbs");
	plan->kind = &all_to_all_rnics;
	plan->ports = ports;
	plan->depth = o->pair.depth;
	plan->mtu = o->pair.mtu;
	r = pair_plan_make(ports, err);
	if (r == 0)
		r = run_rnics(plan, err);
	pair_plan_release(ports);
	return r;
}
