/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lib/base/err.h"
#include "probes/accel/accel.h"
#include "probes/loopback/loopback.h"

enum { OPT_SET = 0x200 };

/* For the whole mesh of 8 RNICs and 8 GPUs, and for its quick set with some room for the rest. */
#define BUDGET_FULL_US (75 * USEC_PER_SEC)
#define BUDGET_QUICK_US (20 * USEC_PER_SEC)

static const struct argp_option option_table[] = {
	{ "set", OPT_SET, "quick|full", 0,
	  "quick: the few cells that cover every link, and all of them if one is low (20s); full: "
	  "all cells, and groups of them at once (default, 75s)",
	  0 },
	{ 0 },
};

static void parse_set(const char *arg, struct argp_state *state, struct loopback_options *o)
{
	bool quick = strcmp(arg, "quick") == 0;

	if (!quick && strcmp(arg, "full") != 0)
		argp_failure(state, PROBE_USAGE, 0, "--set: '%s' is neither quick nor full", arg);
	o->set = quick ? SET_QUICK : SET_FULL;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct probe *probe = state->input;
	struct loopback_options *o = probe->options;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->rdma;
		return 0;
	case OPT_SET:
		parse_set(arg, state, o);
		return 0;
	case ARGP_KEY_END:
		/* The quick set has its own default budget. */
		if (o->set == SET_QUICK && !probe->budget_given)
			probe->budget_us = BUDGET_QUICK_US;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int run(struct probe *probe, struct err *err)
{
	return loopback_run(probe, rdma_verbs(), accel_gpu_present() ? &accel_cuda_copy_ops : NULL,
			    err);
}

static const struct probe_check checks[] = {
	{ "loopback.write_bw", "B/s", BETTER_HIGHER,
	  "a slow PCIe link, switch, root port or socket hop, a wrong MPS, MRRS, ACS or ATS "
	  "setting" },
	{ "loopback.read_bw", "B/s", BETTER_HIGHER, "the same, for reads" },
	{ "loopback.write_lat", "s", BETTER_LOWER,
	  "a detour on the path from the RNIC to the memory" },
	{ "loopback.read_lat", "s", BETTER_LOWER, "the same, round trip" },
};

int main(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rdma_options_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = { .options = option_table,
					  .parser = parse_option,
					  .children = children };
	static const struct probe_desc desc = {
		.name = "loopback",
		.summary = "Measure each RNIC port against each memory of the host through its own "
			   "loopback: the whole mesh in 75s, or with --set quick, in 20s, the few "
			   "cells "
			   "that cover every link",
		.active = true,
		.budget_us = BUDGET_FULL_US,
		.checks = checks,
		.n_checks = ARRAY_SIZE(checks),
		.options = &argp,
		.run = run,
	};
	struct loopback_options options = { .set = SET_FULL };

	options.rdma = RDMA_OPTIONS_OF(&options);
	return probe_main(&desc, &options, argc, argv);
}
