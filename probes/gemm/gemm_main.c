/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/host.h"
#include "lib/sys/paths.h"
#include "probes/accel/watch.h"
#include "probes/coll/nccl_load.h"
#include "probes/gemm/gemm.h"
#include "probes/gemm/gemm_engines.h"
#include "probes/harness/probe.h"
#include "probes/memory/numa.h"

/*
 * Products that take a few milliseconds on a current core, with factors that stay in its caches, so
 * that a host with 200 cores is set up in a second.
 */
enum { EDGE_F64 = 512, EDGE_F32 = 768 };

/*
 * On a GPU, a product of a millisecond or two that draws full power. Verified products are smaller,
 * because the host verifies them: two waves of tiles over the SMs of current GPUs. With this depth
 * every sum fits into 13 bits, the minimum with which FP8 products are accumulated.
 */
enum { EDGE_GPU = 8192, CHECK_M = 2048, CHECK_N = 4096, CHECK_K = 1024 };

/* Time for the kernel to release GPU memory at exit: part of the budget, and a maximum. */
static const double end_part = 0.05;
enum { END_MAX_US = 1000000 };
/* Part of the time for GPUs to become ready; the rest is for measuring those that are. */
static const double ready_part = 0.6;
/* From this budget on there is time for chain and overlap, even if not asked for. */
enum { LONG_BUDGET_US = 30000000 };

enum { BUDGET_MIN_US = 3000000, WARM_MIN_US = 1000000 };
/* Parts of the budget; the rest is for set-up and delays. */
static const double warm_part = 0.1, rate_part = 0.45, check_part = 0.1;
/* The same on GPUs, which also vote. */
static const double gpu_rate_part = 0.4, vote_part = 0.05;
/* Part of the budget for the chain, late windows, and output. */
static const double spare_part = 0.1;
/* If overlap is measured as well, whose communicators take seconds to create. */
static const double less_rate_part = 0.3, overlap_part = 0.1;

/*
 * A burn gets most of the budget, except for these: its first windows do not count, products are
 * verified while it is hot, and samples must be emitted.
 */
enum {
	BURN_BUDGET_MIN_US = 30000000,
	BURN_WARM_US = 3000000,
	BURN_CHECK_US = 10000000,
	BURN_VOTE_US = 5000000,
	BURN_SPARE_US = 5000000,
};
static const double burn_warm_part = 0.05, burn_check_part = 0.1, burn_vote_part = 0.05;

struct options {
	const char *engine;
	struct accel_gemm_shape shape; /* m = 0: the default */
	bool dtype_given;
	bool overlap, chain, burn;
};

enum { OPT_ENGINE = 0x200, OPT_SHAPE, OPT_DTYPE, OPT_OVERLAP, OPT_CHAIN, OPT_BURN };

static const struct argp_option argp_options[] = {
	{ "engine", OPT_ENGINE, "auto|cpu|cuda", 0,
	  "What to load (default auto: cuda if there is an NVIDIA GPU, else cpu)", 0 },
	{ "shape", OPT_SHAPE, "M,N,K", 0, "Rows, columns and depth of the product", 0 },
	{ "dtype", OPT_DTYPE, "TYPE", 0,
	  "cpu: f32 or f64 (the default); cuda: bf16 (the default), fp8, tf32, f32, f64", 0 },
	{ "overlap", OPT_OVERLAP, NULL,
	  0, "Also measure the rate during an all-reduce (GPUs; always with a --budget of 30s or more)",
	  0 },
	{ "chain", OPT_CHAIN, NULL, 0,
	  "Also measure a chain of small kernels as in a forward pass (GPUs; always with a "
	  "--budget of 30s or more)",
	  0 },
	{ "burn", OPT_BURN, NULL, 0,
	  "Load GPUs and NVLinks for the whole budget, at least 30s, and show how each becomes "
	  "slower and hotter, instead of measuring the other rates",
	  0 },
	{ 0 },
};

static void parse_shape(const char *arg, struct argp_state *state, struct accel_gemm_shape *ret)
{
	unsigned *const edges[] = { &ret->m, &ret->n, &ret->k };
	const char *at = arg;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(edges); i++) {
		const char *want = i + 1 < ARRAY_SIZE(edges) ? "," : "";
		char *end = NULL;
		unsigned long edge = strtoul(at, &end, 10);

		if (*at < '0' || *at > '9' || *end != *want || edge < 1 || edge > GEMM_EDGE_MAX)
			argp_failure(state, PROBE_USAGE, 0,
				     "--shape: '%s' is not M,N,K, each from 1 to %d", arg,
				     GEMM_EDGE_MAX);
		*edges[i] = (unsigned)edge;
		at = end + 1;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct probe *probe = state->input;
	struct options *o = probe->options;

	switch (key) {
	case OPT_ENGINE:
		o->engine = arg;
		return 0;
	case OPT_SHAPE:
		parse_shape(arg, state, &o->shape);
		return 0;
	case OPT_DTYPE:
		if (accel_dtype_parse(arg, &o->shape.dtype) < 0)
			argp_failure(state, PROBE_USAGE, 0,
				     "--dtype: '%s' is not f32, f64, bf16, tf32 or fp8", arg);
		o->dtype_given = true;
		return 0;
	case OPT_OVERLAP:
		o->overlap = true;
		return 0;
	case OPT_CHAIN:
		o->chain = true;
		return 0;
	case OPT_BURN:
		o->burn = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = { .options = argp_options, .parser = parse_option };

/* The output type: F64 or F32 for verification, otherwise on a GPU what training uses. */
static enum accel_dtype out_of(enum accel_dtype dtype, bool gpu)
{
	bool narrow = dtype == ACCEL_BF16 || dtype == ACCEL_FP8;

	return dtype == ACCEL_F64 ? ACCEL_F64 : gpu && narrow ? ACCEL_BF16 : ACCEL_F32;
}

static void set_shape(struct gemm_plan *plan, const struct options *o)
{
	struct accel_gemm_shape *s = &plan->shape;
	unsigned edge;

	*s = o->shape;
	if (!o->dtype_given)
		s->dtype = plan->gpu ? ACCEL_BF16 : ACCEL_F64;
	edge = plan->gpu ? EDGE_GPU : s->dtype == ACCEL_F64 ? EDGE_F64 : EDGE_F32;
	if (!s->m)
		s->m = s->n = s->k = edge;
	s->out = out_of(s->dtype, plan->gpu);
	if (!plan->gpu)
		return;
	plan->check_shape = (struct accel_gemm_shape){
		.m = MIN(s->m, (unsigned)CHECK_M),
		.n = MIN(s->n, (unsigned)CHECK_N),
		.k = MIN(s->k, (unsigned)CHECK_K),
		.dtype = s->dtype,
		.out = out_of(s->dtype, false),
	};
}

static int check_options(const struct probe *probe, const struct accel_ops *ops, struct err *err)
{
	const struct options *o = probe->options;
	const char *option = o->burn ? "burn" : o->overlap ? "overlap" : "chain";

	if ((o->overlap || o->chain || o->burn) && streq(ops->name, "cpu"))
		return err_set(err, ENODEV, "--%s needs a GPU engine", option);
	if (o->burn && (o->overlap || o->chain))
		return err_set(err, EINVAL, "--burn: cannot be combined with --overlap or --chain");
	if (o->burn && probe->budget_us < BURN_BUDGET_MIN_US)
		return err_set(err, EINVAL, "--burn: needs a --budget of at least 30s");
	if (probe->budget_us < BUDGET_MIN_US)
		return err_set(err, EINVAL, "--budget: at least 3s, of which 1s is warm-up");
	return 0;
}

/*
 * If GPUs were asked for by name and cannot be driven, there is nothing to measure here; if chosen
 * automatically for a host that has them, the probe could not run.
 */
static int open_engine(struct gemm_plan *plan, const struct probe *probe, struct err *err)
{
	const struct options *o = probe->options;
	int r;

	plan->gpu = streq(plan->ops->name, "cuda");
	r = plan->gpu ? accel_open_watched(plan->ops, probe->deadline_us - probe->budget_us / 10,
					   &plan->accel, err)
		      : plan->ops->open(&plan->accel, err);
	return r == -ENOTSUP && streq(o->engine, "cuda") ? -ENODEV : r;
}

/*
 * Not applicable without two GPUs and NCCL, if overlap was asked for by name: it is never left out
 * silently.
 */
static int set_overlap(struct gemm_plan *plan, const struct probe *probe, struct err *err)
{
	const struct options *o = probe->options;
	unsigned n = plan->ops->n_devices(plan->accel);
	struct err why = ERR_INIT;
	int r = 0;

	if (!o->overlap && probe->budget_us < LONG_BUDGET_US)
		return 0;
	if (n < 2 || n > COLL_RANKS_MAX)
		r = err_set(&why, ENODEV, "an all-reduce needs 2 to %d GPUs, there %s %u",
			    COLL_RANKS_MAX, n == 1 ? "is" : "are", n);
	if (r == 0)
		r = nccl_load(&plan->nccl, &why);
	plan->overlap = r == 0;
	if (r < 0 && o->overlap)
		return err_set(err, ENODEV, "--overlap: %s", why.msg);
	if (r < 0)
		log_info("%s: %s",
			 o->burn ? "NVLinks are not loaded" : "gemm.overlap is not measured",
			 why.msg);
	return 0;
}

static void set_burn_times(struct gemm_plan *plan, const struct probe *probe)
{
	double budget_us = (double)probe->budget_us;
	uint64_t others_us;

	plan->burn = true;
	plan->burn_s = budget_us / USEC_PER_SEC;
	plan->chain = false;
	plan->overlap_us = 0;
	plan->warm_us = MIN((uint64_t)(burn_warm_part * budget_us), (uint64_t)BURN_WARM_US);
	plan->check_us = MIN((uint64_t)(burn_check_part * budget_us), (uint64_t)BURN_CHECK_US);
	plan->vote_us = MIN((uint64_t)(burn_vote_part * budget_us), (uint64_t)BURN_VOTE_US);
	plan->spare_us = MIN(plan->spare_us, (uint64_t)BURN_SPARE_US);
	others_us = plan->warm_us + plan->check_us + plan->vote_us + plan->spare_us;
	plan->rate_us = probe->budget_us - others_us;
}

static void set_times(struct gemm_plan *plan, const struct probe *probe)
{
	const struct options *o = probe->options;
	double budget_us = (double)probe->budget_us;

	plan->warm_us = MAX((uint64_t)(warm_part * budget_us), (uint64_t)WARM_MIN_US);
	plan->rate_us = (uint64_t)(rate_part * budget_us);
	plan->check_us = (uint64_t)(check_part * budget_us);
	if (!plan->gpu)
		return;
	plan->launch = true;
	plan->chain = o->chain || probe->budget_us >= LONG_BUDGET_US;
	plan->leaves = true;
	plan->ready_us = probe->deadline_us - (uint64_t)((1 - ready_part) * budget_us);
	plan->deadline_us -= MIN((uint64_t)(end_part * budget_us), (uint64_t)END_MAX_US);
	plan->rate_us = (uint64_t)((plan->overlap ? less_rate_part : gpu_rate_part) * budget_us);
	plan->vote_us = (uint64_t)(vote_part * budget_us);
	plan->overlap_us = plan->overlap ? (uint64_t)(overlap_part * budget_us) : 0;
	plan->spare_us = (uint64_t)(spare_part * budget_us);
	if (o->burn)
		set_burn_times(plan, probe);
}

/* Never freed, because late threads may use it when the process exits. */
static void read_host(struct gemm_plan *plan)
{
	CLEANUP(closep) int sys_fd = paths_open_sys("/sys/devices/system");
	CLEANUP(cpu_list_release) struct cpu_list allowed = { 0 };
	struct numa_host *numa = xcalloc(1, sizeof(*numa));

	plan->cpu = host_cpu_model();
	if (sys_fd >= 0 && cpu_list_allowed(&allowed, NULL) == 0 &&
	    numa_read(sys_fd, &allowed, numa, NULL) == 0)
		plan->numa = numa;
	else
		free(numa);
}

static int run(struct probe *probe, struct err *err)
{
	const struct options *o = probe->options;
	struct gemm_plan plan = {
		.seed = probe->seed,
		.run_busy = probe->run_busy,
		.deadline_us = probe->deadline_us,
		.epoch_us = (int64_t)clock_real_us() - (int64_t)clock_mono_us(),
		.sink = { probe_emit_of, probe },
	};
	uint64_t watch_us;
	int r = accel_choose(o->engine, gemm_engines, &plan.ops, err);

	if (r == 0)
		r = check_options(probe, plan.ops, err);
	if (r == 0)
		r = open_engine(&plan, probe, err);
	if (r < 0)
		return r;
	if (plan.gpu)
		accel_leave_at_once(); /* destroying contexts takes seconds, and nobody needs it */
	set_shape(&plan, o);
	if (plan.gpu) {
		read_host(&plan);
		r = set_overlap(&plan, probe, err);
	}
	if (r < 0)
		return r;
	set_times(&plan, probe);
	/* Before our parent kills us. */
	watch_us = plan.deadline_us + (probe->deadline_us - plan.deadline_us) / 2;
	r = plan.gpu ? gemm_run_watched(&plan, watch_us, err) : gemm_run(&plan, err);
	if (!plan.gpu)
		plan.ops->close(plan.accel);
	return r;
}

int main(int argc, char **argv)
{
	static const struct probe_check checks[] = {
		{ "gemm.rate", "FLOP/s", BETTER_HIGHER,
		  "a core or GPU slower than its peers: throttled, badly cooled, worn or shared" },
		{ "gemm.per_clock", "1", BETTER_HIGHER,
		  "a GPU slow at a normal clock: memory, ECC, settings, another process" },
		{ "gemm.host_rate", "FLOP/s", BETTER_HIGHER,
		  "a host whose slowest GPU is slower than those of other hosts" },
		{ "gemm.launch", "s", BETTER_LOWER,
		  "a host whose launches take longer: a slow core, its clock or settings (GPU)" },
		{ "gemm.launch_p99", "s", BETTER_NONE,
		  "a host that is disturbed while launching: interrupts, other threads (GPU)" },
		{ "gemm.launch_far", "s", BETTER_LOWER,
		  "the same from a core of the other socket: the link between them (GPU)" },
		{ "gemm.chain", "s", BETTER_LOWER,
		  "a host that launches kernels late: a slow core, wrong NUMA node, interrupts "
		  "(GPU)" },
		{ "gemm.chain_far", "s", BETTER_LOWER,
		  "the same from a core of the other socket (GPU)" },
		{ "gemm.overlap", "FLOP/s", BETTER_HIGHER,
		  "a GPU that slows down more than its peers during an all-reduce (GPU)" },
		{ "gemm.overlap_busbw", "B/s", BETTER_NONE,
		  "the all-reduce itself: its rate during the products, or the GPU that hung in "
		  "it" },
		{ "gemm.burn_rate", "FLOP/s", BETTER_HIGHER,
		  "with --burn: a GPU slower than its peers after minutes of load (GPU)" },
		{ "gemm.burn_kept", "1", BETTER_HIGHER,
		  "with --burn: a GPU that slows down as it warms up: fan, paste, airflow (GPU)" },
		{ "gemm.burn_hbm_temp", "1", BETTER_LOWER,
		  "with --burn: memory at its temperature limit while its peers' is not, C (GPU)" },
		{ "gemm.burn_gpu_temp", "1", BETTER_LOWER,
		  "with --burn: a GPU hotter than those of other hosts, C (GPU)" },
		{ "gemm.burn_clock", "Hz", BETTER_NONE,
		  "with --burn: the SM clock over time (GPU)" },
		{ "gemm.burn_power", "W", BETTER_NONE, "with --burn: the power over time (GPU)" },
		{ "gemm.correct", "1", BETTER_LOWER,
		  "silent data corruption: elements of a product that are wrong" },
	};
	static const struct probe_desc desc = {
		.name = "gemm",
		.summary = "Measures matrix products on all cores or GPUs at once: rate, and exact "
			   "results.",
		.active = true,
		.budget_us = 10 * USEC_PER_SEC,
		.checks = checks,
		.n_checks = ARRAY_SIZE(checks),
		.options = &argp,
		.run = run,
	};
	struct options options = { .engine = "auto" };

	return probe_main(&desc, &options, argc, argv);
}
