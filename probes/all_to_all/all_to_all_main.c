/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/all_to_all/all_to_all_options.h"
#include "probes/all_to_all/all_to_all_start.h"

enum { OPT_SET = 0x200, OPT_SIZE, OPT_ENGINE, OPT_GID_INDEX, OPT_MTU, OPT_DEPTH, DECIMAL = 10 };

/* Outstanding 512 KiB pieces per peer: 8 MiB fill a link of 400 Gb/s for 160 us. */
enum { DEPTH_DEFAULT = 16, DEPTH_MAX = 64 };

static const struct argp_option option_table[] = {
	{ "engine", OPT_ENGINE, "nccl|verbs", 0,
	  "GPUs through NCCL (default), or RDMA ports over the fabric, in host memory", 0 },
	{ "set", OPT_SET, "quick|full", 0,
	  "Measure pairs only if the whole is slow, or always (default)", 0 },
	{ "size", OPT_SIZE, "BYTES", 0,
	  "Largest buffer of each device, 64 KiB to 1 GiB (default 1 GiB, but at most a sixteenth "
	  "of a GPU's memory; 64 MiB for an RDMA port)",
	  0 },
	{ NULL, 0, NULL, 0, "With --engine verbs:", 2 },
	{ "gid-index", OPT_GID_INDEX, "N", 0,
	  "Index of the GID to use on the ports (default: the best one)", 2 },
	{ "mtu", OPT_MTU, "N", 0, "MTU in bytes: 256 to 4096, at most that of the ports", 2 },
	{ "depth", OPT_DEPTH, "N", 0, "Pieces in flight to each peer, 1 to 64 (default 16)", 2 },
	{ 0 },
};

static unsigned long long number(const char *arg, const char *name, unsigned long long min,
				 unsigned long long max, struct argp_state *state)
{
	char *end = NULL;
	unsigned long long value;

	errno = 0;
	value = strtoull(arg, &end, DECIMAL);
	if (errno || end == arg || *end || arg[0] == '-' || value < min || value > max)
		argp_failure(state, PROBE_USAGE, 0, "--%s: '%s' is not a number from %llu to %llu",
			     name, arg, min, max);
	return value;
}

/*
 * Returns true if `arg` is the second of two words; anything else but the first is a usage error.
 */
static bool is_second(const char *arg, const char *name, const char *first, const char *second,
		      struct argp_state *state)
{
	if (strcmp(arg, first) != 0 && strcmp(arg, second) != 0)
		argp_failure(state, PROBE_USAGE, 0, "--%s: '%s' is neither %s nor %s", name, arg,
			     first, second);
	return strcmp(arg, second) == 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct probe *probe = state->input;
	struct all_to_all_options *o = probe->options;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->pair.service;
		return 0;
	case OPT_ENGINE:
		o->verbs = is_second(arg, "engine", "nccl", "verbs", state);
		return 0;
	case OPT_SET:
		o->quick = !is_second(arg, "set", "quick", "full", state);
		return 0;
	case OPT_SIZE:
		o->size = number(arg, "size", ALL_TO_ALL_SIZE_MIN, ALL_TO_ALL_SIZE_MAX, state);
		return 0;
	case OPT_GID_INDEX:
		o->pair.gid_index = (int)number(arg, "gid-index", 0, RDMA_GID_INDEX_MAX, state);
		return 0;
	case OPT_MTU:
		o->pair.mtu = (unsigned)number(arg, "mtu", 256, 4096, state);
		return 0;
	case OPT_DEPTH:
		o->pair.depth = (unsigned)number(arg, "depth", 1, DEPTH_MAX, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int run(struct probe *probe, struct err *err)
{
	const struct all_to_all_options *o = probe->options;

	return o->verbs ? all_to_all_start_rnics(probe, err) : all_to_all_start_gpus(probe, err);
}

static const struct probe_check checks[] = {
	{ "all_to_all.busbw", "B/s", BETTER_HIGHER,
	  "NVLink or NVSwitch slower than before, or than others of its kind" },
	{ "all_to_all.size_bw", "B/s", BETTER_NONE,
	  "the same at smaller sizes: launches that take longer than before" },
	{ "all_to_all.pair_bw", "B/s", BETTER_HIGHER,
	  "the GPU or the pair of GPUs whose links are slow" },
	{ "all_to_all.nvlinks", "1", BETTER_NONE, "a GPU with fewer NVLinks up than its peers" },
	{ "all_to_all.correct", "1", BETTER_LOWER,
	  "data damaged in transit: elements that are wrong" },
	{ "all_to_all.rnic_busbw", "B/s", BETTER_HIGHER,
	  "an RDMA port or switch that is slow when all send to all (--engine verbs)" },
	{ "all_to_all.rnic_size_bw", "B/s", BETTER_NONE, "the same at smaller sizes" },
	{ "all_to_all.rnic_pair_bw", "B/s", BETTER_HIGHER,
	  "the port, or the path between two ports, that is slow" },
	{ "all_to_all.rnic_correct", "1", BETTER_LOWER, "data damaged in transit over the fabric" },
};

int main(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rdma_service_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = { .options = option_table,
					  .parser = parse_option,
					  .children = children };
	static const struct probe_desc desc = {
		.name = "all-to-all",
		.summary = "Measures all-to-all between the host's GPUs through NCCL, or between "
			   "its RDMA ports over the fabric: bandwidth of the whole and of each "
			   "pair, NVLinks, and "
			   "exact data.",
		.active = true,
		.budget_us = 30 * USEC_PER_SEC,
		.checks = checks,
		.n_checks = ARRAY_SIZE(checks),
		.options = &argp,
		.run = run,
	};
	struct all_to_all_options options = {
		.size = ALL_TO_ALL_SIZE_MAX,
		/* Open all ports of this host, but make no pairs among them. */
		.pair = { .gid_index = -1, .qps = 1, .depth = DEPTH_DEFAULT, .peer = "all" },
	};

	return probe_main(&desc, &options, argc, argv);
}
