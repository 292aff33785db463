/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/kernel_rules.h"
#include "lib/sys/paths.h"
#include "lib/sys/pci_slots.h"
#include "probes/accel/accel.h"
#include "probes/gpu_state/gpu_c2c.h"
#include "probes/gpu_state/gpu_settings.h"
#include "probes/gpu_state/gpu_state.h"
#include "probes/harness/since.h"

enum { END_MAX_US = 500000 };

static int run_areas(struct gpu_state *state, struct err *err)
{
	/* The first finds names for GPUs that could not be identified. */
	static int (*const areas[])(struct gpu_state * state) = {
		gpu_presence, gpu_xids, gpu_facts, gpu_settings, gpu_counters, gpu_links, gpu_c2c,
	};
	size_t i;
	int r = 0;

	for (i = 0; i < ARRAY_SIZE(areas) && r == 0; i++)
		r = areas[i](state);
	return r < 0 ? err_errno(err, -r, "cannot print samples") : 0;
}

static int look(struct probe *probe, struct gpus *gpus, struct err *err)
{
	CLEANUP(kernel_rules_release) struct kernel_rules rules = { 0 };
	CLEANUP(pci_slots_release) struct pci_slots slots = { 0 };
	CLEANUP(since_release) struct since since = { 0 };
	CLEANUP(freep) char *policy_dir = paths_policy();
	struct gpu_state state = {
		.desc = probe->desc, .gpus = gpus, .rules = &rules, .slots = &slots
	};
	int r = kernel_rules_load(policy_dir, &rules, err);

	if (r < 0)
		return r;
	pci_slots_read(&slots);
	since_open(probe, &since);
	if (gpus->n == 0 && !gpus->stuck &&
	    json_array_size(json_object_get(since.past, "known")) == 0)
		return err_set(err, ENODEV, "the GPU driver shows no GPU");
	state.past = since.past;
	state.next = since.next;
	state.same_boot = since.same_boot;
	/* If the clock went backwards, the window is unknown. */
	state.window_s = since.same_boot && since.window_s > 0 ? since.window_s : NAN;
	state.counters = since.counters;
	state.emit = probe_emit_of;
	state.emit_context = probe;
	r = run_areas(&state, err);
	if (r == 0)
		since_keep(probe, &since);
	return r;
}

/* Were all GPUs in persistence mode at the last run in this boot? */
static bool are_started(const struct probe *probe)
{
	CLEANUP(json_freep) json_t *past = probe_load(probe, false);

	return json_is_true(json_object_get(past, "persistence"));
}

static int run(struct probe *probe, struct err *err)
{
	CLEANUP(gpus_release) struct gpus gpus = { 0 };
	/* Time to write samples, and to exit with calls that hang. */
	const uint64_t end_us = MIN(probe->budget_us / 8, (uint64_t)END_MAX_US);
	int r = gpus_read(are_started(probe), probe->deadline_us - end_us, &gpus, err);

	if (r == 0)
		r = look(probe, &gpus, err);
	if (gpus.stuck)
		accel_leave_at_once();
	return r;
}

int main(int argc, char **argv)
{
	const struct probe_desc desc = {
		.name = "gpu-state",
		.summary = "Reads what the driver reports about the GPUs: memory and link errors, "
			   "throttling, power, Xids, and who uses them. Puts no load on the host.",
		.active = false,
		.budget_us = 5 * USEC_PER_SEC,
		.checks = gpu_checks,
		.n_checks = gpu_n_checks,
		.run = run,
	};

	return probe_main(&desc, NULL, argc, argv);
}
