/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-memory: how fast the cores of each NUMA node read, write, copy
 * and calculate on the memory of each, and whether it keeps what is written.
 */
#include <errno.h>

#include "lib/err.h"
#include "probes/accel/accel.h"
#include "probes/memory/cell.h"
#include "probes/memory/session.h"
#include "probes/probe.h"

enum { OPT_ENGINE = 0x200 };

enum engine { ENGINE_AUTO, ENGINE_CPU, ENGINE_CUDA };

struct options {
	enum engine engine;
};

static const char *const engine_names[] = {
	[ENGINE_AUTO] = "auto",
	[ENGINE_CPU] = "cpu",
	[ENGINE_CUDA] = "cuda",
};

static const struct argp_option option_table[] = {
	{ "engine", OPT_ENGINE, "auto|cpu|cuda", 0,
	  "What to measure: cpu is host memory, cuda that of GPUs, auto all there is (default)", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct probe *probe = state->input;
	struct options *options = probe->options;
	unsigned i;

	if (key != OPT_ENGINE)
		return ARGP_ERR_UNKNOWN;
	for (i = 0; i < ARRAY_SIZE(engine_names); i++) {
		if (streq(arg, engine_names[i])) {
			options->engine = (enum engine)i;
			return 0;
		}
	}
	argp_error(state, "--engine: '%s' is none of auto, cpu, cuda", arg);
	return EINVAL;
}

static int run(struct probe *probe, struct err *err)
{
	const struct options *options = probe->options;

	if (options->engine == ENGINE_CUDA && !accel_gpu_present())
		return err_set(err, ENODEV, "no NVIDIA GPU on the PCI bus of this host");
	if (options->engine == ENGINE_CUDA)
		return err_set(err, ENOTSUP,
			       "--engine cuda: this build cannot measure the memory of GPUs, and "
			       "PCI shows one");
	return session_run(probe, err);
}

static const struct probe_check checks[] = {
	{ "memory.read_bw", "B/s", BETTER_HIGHER,
	  "slow or missing DIMMs, a slow socket link, wrong NUMA or power settings" },
	{ "memory.write_bw", "B/s", BETTER_HIGHER, "the same, for writes" },
	{ "memory.copy_bw", "B/s", BETTER_HIGHER, "the same, for reads and writes together" },
	{ "memory.triad_bw", "B/s", BETTER_HIGHER, "the same, as STREAM measures it" },
	{ "memory.pattern", "1", BETTER_LOWER, "memory that does not keep what is written" },
};

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = option_table, .parser = parse_option };
	static const struct probe_desc desc = {
		.name = "memory",
		.summary = "Measure host memory: bandwidth between NUMA nodes, and a pattern check",
		.active = true,
		.budget_us = 5 * USEC_PER_SEC,
		.checks = checks,
		.n_checks = ARRAY_SIZE(checks),
		.options = &argp,
		.run = run,
	};
	struct options options = { .engine = ENGINE_AUTO };

	return probe_main(&desc, &options, argc, argv);
}
