/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-memory: how fast the cores of each NUMA node read, write, copy and compute on the
 * memory of each node, and whether memory retains what is written; and how fast GPUs copy to and
 * from host memory and within their own.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "probes/accel/accel.h"
#include "probes/harness/probe.h"
#include "probes/memory/cell.h"
#include "probes/memory/gpu.h"
#include "probes/memory/gpu_main.h"
#include "probes/memory/session.h"

enum { OPT_ENGINE = 0x200, OPT_SIZE };

/* Part of the budget within which the GPU driver must have started. */
static const double start_part = 0.5;
/* Part of the remaining time for the host, if GPUs are measured as well. */
static const double host_part = 0.35;

enum engine { ENGINE_AUTO, ENGINE_CPU, ENGINE_CUDA };

struct options {
	enum engine engine;
	uint64_t copy_bytes; /* per copy of a GPU */
};

static const char *const engine_names[] = {
	[ENGINE_AUTO] = "auto",
	[ENGINE_CPU] = "cpu",
	[ENGINE_CUDA] = "cuda",
};

static const struct argp_option option_table[] = {
	{ "engine", OPT_ENGINE, "auto|cpu|cuda", 0,
	  "What to measure: cpu is host memory, cuda is GPU memory, auto is both (default)", 0 },
	{ "size", OPT_SIZE, "B", 0, "Bytes of one copy between host and GPU (default 33554432)", 0 },
	{ 0 },
};

static void parse_size(const char *arg, struct argp_state *state, uint64_t *ret)
{
	char *end = NULL;
	unsigned long long size = strtoull(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end || size < GPU_COPY_MIN || size > GPU_COPY_MAX ||
	    size % GPU_COPY_MIN)
		argp_failure(state, PROBE_USAGE, 0,
			     "--size: '%s' is not a multiple of %d bytes, at most %d", arg,
			     GPU_COPY_MIN, GPU_COPY_MAX);
	*ret = size;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct probe *probe = state->input;
	struct options *options = probe->options;
	unsigned i;

	if (key == OPT_SIZE) {
		parse_size(arg, state, &options->copy_bytes);
		return 0;
	}
	if (key != OPT_ENGINE)
		return ARGP_ERR_UNKNOWN;
	for (i = 0; i < ARRAY_SIZE(engine_names); i++) {
		if (streq(arg, engine_names[i])) {
			options->engine = (enum engine)i;
			return 0;
		}
	}
	argp_error(state, "--engine: '%s' is not one of auto, cpu, cuda", arg);
	return EINVAL;
}

/* GPUs were asked for by name: if they cannot be driven, there is nothing to measure here. */
static int run_gpus(struct probe *probe, const struct options *options, struct err *err)
{
	struct accel *accel;
	int r;

	if (!accel_gpu_present())
		return err_set(err, ENODEV,
			       "no NVIDIA GPU on this host's PCI bus, and no driver for one");
	r = gpu_start(probe, start_part, &accel, err);
	if (r == 0)
		return gpu_probe(probe, accel, options->copy_bytes, err);
	return r == -ENOTSUP ? -ENODEV : r;
}

/* Run the host part with its share of the time as if it were the whole budget. */
static int run_host(struct probe *probe, struct err *err)
{
	const uint64_t budget_us = probe->budget_us, deadline_us = probe->deadline_us;
	int r;

	probe->budget_us = (uint64_t)(host_part * (double)probe_left_us(probe));
	probe->deadline_us = clock_mono_us() + probe->budget_us;
	r = session_run(probe, err);
	probe->budget_us = budget_us;
	probe->deadline_us = deadline_us;
	return r;
}

/*
 * Start the driver first: if there are GPUs that cannot be driven, good host memory must not pass
 * for everything. Then measure the host, before threads pin and fill its memory for GPUs. A GPU
 * that hangs does so after that.
 */
static int run_all(struct probe *probe, const struct options *options, struct err *err)
{
	struct err host_err = ERR_INIT;
	struct accel *accel;
	int r = gpu_start(probe, start_part, &accel, err), host;

	if (r < 0)
		return r;
	host = run_host(probe, &host_err);
	r = gpu_probe(probe, accel, options->copy_bytes, err);
	if (r == 0 && host < 0)
		return err_set(err, -host, "%s", host_err.msg);
	return r;
}

static int run(struct probe *probe, struct err *err)
{
	const struct options *options = probe->options;
	bool all = options->engine == ENGINE_AUTO;
	int r = all ? accel_check_vendor(err) : 0;

	if (r < 0)
		return r;
	if (options->engine == ENGINE_CUDA)
		return run_gpus(probe, options, err);
	if (all && accel_gpu_present())
		return run_all(probe, options, err);
	return session_run(probe, err);
}

static const struct probe_check checks[] = {
	{ "memory.read_bw", "B/s", BETTER_HIGHER,
	  "slow or missing DIMMs, a slow socket link, wrong NUMA or power settings" },
	{ "memory.write_bw", "B/s", BETTER_HIGHER, "the same, for writes" },
	{ "memory.copy_bw", "B/s", BETTER_HIGHER, "the same, for reads and writes together" },
	{ "memory.triad_bw", "B/s", BETTER_HIGHER, "the same, as STREAM measures it" },
	{ "memory.h2d_bw", "B/s", BETTER_HIGHER,
	  "a slow PCIe link, switch, root port or socket link between a GPU and the host" },
	{ "memory.d2h_bw", "B/s", BETTER_HIGHER, "the same, from the GPU to the host" },
	{ "memory.h2d_lat", "s", BETTER_NONE, "the time of a small copy to a GPU" },
	{ "memory.d2h_lat", "s", BETTER_NONE, "the same, from the GPU to the host" },
	{ "memory.bidir_bw", "B/s", BETTER_HIGHER, "the same, in both directions at once" },
	{ "memory.pcie_link", "1", BETTER_NONE,
	  "a PCIe link of a GPU that is narrower or slower under load than both ends can" },
	{ "memory.device_bw", "B/s", BETTER_HIGHER,
	  "slow GPU memory: its clock, ECC, remapped rows, another process" },
	{ "memory.p2p_bw", "B/s", BETTER_HIGHER,
	  "a slow or missing NVLink, or a slow PCIe link between two GPUs" },
	{ "memory.pattern", "1", BETTER_LOWER, "memory that does not retain what is written" },
};

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = option_table, .parser = parse_option };
	static const struct probe_desc desc = {
		.name = "memory",
		.summary = "Measure memory: bandwidth between NUMA nodes, to, from and within "
			   "GPUs, and a pattern check",
		.active = true,
		.budget_us = 5 * USEC_PER_SEC,
		.checks = checks,
		.n_checks = ARRAY_SIZE(checks),
		.options = &argp,
		.run = run,
	};
	struct options options = { .engine = ENGINE_AUTO, .copy_bytes = GPU_COPY_BYTES };

	return probe_main(&desc, &options, argc, argv);
}
