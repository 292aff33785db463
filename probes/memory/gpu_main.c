/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "lib/file.h"
#include "lib/paths.h"
#include "lib/topology.h"
#include "lib/xalloc.h"
#include "probes/accel/watch.h"
#include "probes/memory/gpu.h"
#include "probes/probe.h"

/* From such a budget on there is time for the pattern. */
enum { PATTERN_BUDGET_US = 20000000 };

/* The end of a GPU's context takes long, and they go one by one. */
static const double end_part = 0.1;

/* Kept when the thread hangs. */
struct work {
	struct gpu_plan plan;
	_Atomic(struct accel *) opened; /* NULL: the driver has not started yet */
	struct numa_host host;
	struct topology topology;
};

/* Without nodes there is one; without a topology there are no paths. */
static void read_host(struct work *w)
{
	CLEANUP(closep) int sys_fd = paths_open_sys("/sys/devices/system");
	CLEANUP(cpu_list_release) struct cpu_list allowed = { 0 };

	if (sys_fd >= 0 && cpu_list_allowed(&allowed, NULL) == 0 &&
	    numa_read(sys_fd, &allowed, &w->host, NULL) == 0)
		w->plan.host = &w->host;
	if (topology_load(&w->topology, NULL) == 0)
		w->plan.topology = &w->topology;
}

/* The driver may not even come back from being started. */
static int measure(void *context, struct err *err)
{
	struct work *w = context;
	int r = w->plan.ops->open(&w->plan.accel, err);

	if (r < 0)
		return r;
	w->opened = w->plan.accel;
	read_host(w); /* costs more than finding no driver */
	r = gpu_run(&w->plan, err);
	w->plan.ops->close(w->plan.accel);
	return r;
}

static void work_free(struct work *w)
{
	numa_host_release(&w->host);
	if (w->plan.topology)
		topology_release(&w->topology);
	free(w);
}

static int tell_blocked(struct probe *probe, const struct accel *a, struct err *err)
{
	struct sample s = sample_init();
	int r;

	if (!a)
		return err_set(err, ETIMEDOUT, "the GPU driver does not come back from its start");
	s.check = xstrdup("memory.h2d_bw");
	s.unit = xstrdup("B/s");
	s.better = BETTER_HIGHER;
	r = accel_blocked(a, &s, err);
	if (s.subject)
		(void)probe_emit(probe, &s);
	sample_release(&s);
	return r;
}

int gpu_probe(struct probe *probe, uint64_t copy_bytes, uint64_t us, struct err *err)
{
	const uint64_t end_us = clock_mono_us() + us, late_us = (uint64_t)(end_part * (double)us);
	struct work *w = xcalloc(1, sizeof(*w));
	int r;

	w->plan = (struct gpu_plan){
		.ops = &accel_cuda_copy_ops,
		.seed = probe->seed,
		.copy_bytes = copy_bytes,
		.pattern = probe->budget_us >= PATTERN_BUDGET_US,
		.run_busy = probe->run_busy,
		.deadline_us = end_us - 2 * late_us,
		.epoch_us = (int64_t)clock_real_us() - (int64_t)clock_mono_us(),
		.emit = probe_emit_of,
		.context = probe,
	};
	r = accel_watch(measure, w, end_us - late_us, err);
	if (r == -ETIMEDOUT)
		return tell_blocked(probe, w->opened, err);
	work_free(w);
	return r;
}
