/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/gpu_main.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/topology/topology.h"
#include "probes/accel/watch.h"
#include "probes/harness/probe.h"
#include "probes/memory/gpu.h"
#include "probes/memory/gpu_run.h"

/* From this budget on there is time for the pattern check. */
enum { PATTERN_BUDGET_US = 20000000 };

/* Time for the kernel to release GPU memory at exit: part of the budget, and a maximum. */
static const double end_part = 0.1;
enum { END_MAX_US = 1000000 };

/* Part of the time left after the driver start for setting up GPUs; the rest is for measuring. */
static const double ready_part = 0.6;

/* Not freed before the process exits, because threads may use it. */
struct work {
	struct gpu_plan plan;
	struct numa_host host;
	struct topology topology;
};

/* Without NUMA nodes we assume one; without a topology there are no paths. */
static void read_host(struct work *w)
{
	if (numa_read_here(&w->host, NULL) == 0) {
		numa_leave_out_bare(&w->host);
		w->plan.host = &w->host;
	}
	if (topology_load(&w->topology, NULL) == 0)
		w->plan.topology = &w->topology;
}

static int measure(void *context, struct err *err)
{
	struct work *w = context;

	return gpu_run(&w->plan, err);
}

static int tell_blocked(struct probe *probe, const struct accel *a, struct err *err)
{
	struct sample s = sample_init();
	int r;

	s.check = xstrdup("memory.h2d_bw");
	s.unit = xstrdup("B/s");
	s.better = BETTER_HIGHER;
	r = accel_blocked(a, &s, err);
	if (s.subject)
		(void)probe_emit(probe, &s);
	sample_release(&s);
	return r;
}

int gpu_start(const struct probe *probe, double part, struct accel **ret, struct err *err)
{
	const uint64_t begun_us = probe->deadline_us - probe->budget_us;
	int r = accel_open_watched(&accel_cuda_copy_ops,
				   begun_us + (uint64_t)(part * (double)probe->budget_us), ret, err);

	if (r == 0)
		accel_leave_at_once();
	return r;
}

int gpu_probe(struct probe *probe, struct accel *accel, uint64_t copy_bytes, struct err *err)
{
	const uint64_t late_us =
		MIN((uint64_t)(end_part * (double)probe->budget_us), (uint64_t)END_MAX_US);
	const uint64_t end_us = probe->deadline_us - late_us / 2;
	struct work *w = xcalloc(1, sizeof(*w));
	int r;

	w->plan = (struct gpu_plan){
		.ops = accel->ops,
		.accel = accel,
		.seed = probe->seed,
		.copy_bytes = copy_bytes,
		.pattern = probe->budget_us >= PATTERN_BUDGET_US,
		.run_busy = probe->run_busy,
		.leaves = true,
		.deadline_us = end_us - late_us / 2,
		.epoch_us = (int64_t)clock_real_us() - (int64_t)clock_mono_us(),
		.emit = probe_emit_of,
		.context = probe,
	};
	read_host(w); /* takes a fraction of a second on a large host */
	w->plan.ready_us = clock_mono_us() + (uint64_t)(ready_part * (double)clock_left_us(end_us));
	r = accel_watch(measure, w, end_us, err);
	/* The thread of a late GPU still uses it. */
	return r == -ETIMEDOUT ? tell_blocked(probe, accel, err) : r;
}
