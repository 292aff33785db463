/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/json/json.h"
#include "lib/sys/paths.h"
#include "lib/sys/pci_slots.h"
#include "probes/harness/since.h"
#include "probes/rnic_state/nic.h"
#include "probes/rnic_state/rnic_state.h"

enum { OPT_EXCLUDE = 0x200 };

struct options {
	const char *exclude;
};

static const struct argp_option option_table[] = {
	{ "exclude", OPT_EXCLUDE, "LIST", 0, "RDMA devices to ignore, such as mlx5_2,mlx5_3", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct probe *probe = state->input;
	struct options *options = probe->options;

	if (key != OPT_EXCLUDE)
		return ARGP_ERR_UNKNOWN;
	options->exclude = arg;
	return 0;
}

static int run_areas(struct rnic_state *state, struct err *err)
{
	/* Links use what the counters found. */
	static int (*const areas[])(struct rnic_state * state) = {
		rnic_counters, rnic_links, rnic_settings, rnic_neighbors, rnic_optics,
	};
	size_t i;
	int r = 0;

	for (i = 0; i < ARRAY_SIZE(areas) && r == 0; i++)
		r = areas[i](state);
	return r < 0 ? err_errno(err, -r, "cannot print samples") : 0;
}

static int run(struct probe *probe, struct err *err)
{
	const struct options *options = probe->options;
	CLEANUP(ports_release) struct ports ports = { 0 };
	CLEANUP(pci_slots_release) struct pci_slots slots = { 0 };
	CLEANUP(since_release) struct since since = { 0 };
	struct rnic_state state = { .desc = probe->desc, .ports = &ports, .emit = probe_emit_of };
	int r;

	ports_read(options->exclude, &ports);
	since_open(probe, &since);
	if (ports.n == 0 && json_array_size(json_object_get(since.past, "known")) == 0)
		return err_set(err, ENODEV, "no RDMA port below '%s/sys/class/infiniband'",
			       paths_sysroot());
	pci_slots_read(&slots);
	state.slots = &slots;
	state.deadline_us = probe->deadline_us - probe->budget_us / 4;
	state.exclude = options->exclude;
	state.past = since.past;
	state.next = since.next;
	state.same_boot = since.same_boot;
	state.uptime_s = since.uptime_s;
	/* If the clock went backwards, the window is unknown. */
	state.window_s = since.same_boot && since.window_s > 0 ? since.window_s : NAN;
	state.counters = since.counters;
	state.nic = *paths_sysroot() ? &nic_none : &nic_kernel;
	state.emit_context = probe;
	r = run_areas(&state, err);
	if (r == 0)
		since_keep(probe, &since);
	return r;
}

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = option_table, .parser = parse_option };
	const struct probe_desc desc = {
		.name = "rnic-state",
		.summary = "Reads what the RNICs report about themselves: links, error and "
			   "congestion counters, settings, optics. Puts no load on the host.",
		.active = false,
		.budget_us = 5 * USEC_PER_SEC,
		.checks = rnic_checks,
		.n_checks = rnic_n_checks,
		.options = &argp,
		.run = run,
	};
	struct options options = { .exclude = NULL };

	return probe_main(&desc, &options, argc, argv);
}
