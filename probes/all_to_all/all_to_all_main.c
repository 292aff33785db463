/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/xalloc.h"
#include "probes/accel/watch.h"
#include "probes/all_to_all/all_to_all.h"
#include "probes/probe.h"

struct options {
	bool quick;
	uint64_t size;
};

enum { OPT_SET = 0x200, OPT_SIZE };

/* Contexts and communicators go one by one. */
static const double end_part = 0.1;

static const struct argp_option argp_options[] = {
	{ "set", OPT_SET, "quick|full", 0,
	  "Pairs only when all together are suspect, or always (default)", 0 },
	{ "size", OPT_SIZE, "BYTES", 0,
	  "Largest buffer of a GPU, 64 KiB to 1 GiB (default 1 GiB; a sixteenth of its memory at "
	  "most)",
	  0 },
	{ 0 },
};

static void parse_size(const char *arg, struct argp_state *state, struct options *o)
{
	char *end = NULL;
	unsigned long long size;

	errno = 0;
	size = strtoull(arg, &end, 10);
	if (errno || end == arg || *end || arg[0] == '-' || size < ALL_TO_ALL_SIZE_MIN ||
	    size > ALL_TO_ALL_SIZE_MAX)
		argp_failure(state, PROBE_USAGE, 0, "--size: '%s' is not a number from %d to %llu",
			     arg, ALL_TO_ALL_SIZE_MIN, (unsigned long long)ALL_TO_ALL_SIZE_MAX);
	o->size = size;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct probe *probe = state->input;
	struct options *o = probe->options;

	switch (key) {
	case OPT_SET:
		o->quick = streq(arg, "quick");
		if (!o->quick && !streq(arg, "full"))
			argp_failure(state, PROBE_USAGE, 0, "--set: '%s' is neither quick nor full",
				     arg);
		return 0;
	case OPT_SIZE:
		parse_size(arg, state, o);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int emit(void *context, struct sample *s)
{
	return probe_emit(context, s);
}

static int measure(void *context, struct err *err)
{
	return all_to_all_run(context, err);
}

/* What must be the same for the best so far to mean anything. */
static char *known_key(const struct all_to_all_plan *plan)
{
	return xasprintf("%s, %s, %u GPUs, %llu bytes", plan->library.version,
			 plan->accel->ops->version(plan->accel),
			 plan->accel->ops->n_devices(plan->accel), (unsigned long long)plan->size);
}

static int tell_blocked(struct all_to_all_plan *plan, struct err *err)
{
	struct sample s = sample_init();
	int r;

	s.check = xstrdup("all_to_all.busbw");
	s.unit = xstrdup("B/s");
	s.better = BETTER_HIGHER;
	r = accel_blocked(plan->accel, &s, err);
	if (s.subject)
		(void)plan->emit(plan->context, &s);
	sample_release(&s);
	return r;
}

static int run_plan(struct probe *probe, struct all_to_all_plan *plan, struct err *err)
{
	CLEANUP(json_freep) json_t *known = probe_load(probe, true);
	CLEANUP(freep) char *key = known_key(plan);
	json_t *best = json_object_get(known, key);
	struct err ignored = ERR_INIT;
	int r;

	plan->known = best ? json_number_value(best) : (double)NAN;
	/* Before whoever started us ends us. */
	r = accel_watch(measure, plan,
			plan->deadline_us + (probe->deadline_us - plan->deadline_us) / 2, err);
	if (r == -ETIMEDOUT)
		return tell_blocked(plan, err);
	if (r == 0 && !isnan(plan->known) && !plan->run_busy) {
		(void)json_object_set_new(known, key, json_real(plan->known));
		(void)probe_save(probe, known, &ignored);
	}
	return r;
}

/* Kept when the thread that measures does not come back. */
static struct all_to_all_plan *make_plan(const struct probe *probe)
{
	const struct options *o = probe->options;
	struct all_to_all_plan *plan = xcalloc(1, sizeof(*plan));
	uint64_t end_us = (uint64_t)(end_part * (double)probe->budget_us);

	plan->size = o->size;
	plan->seed = probe->seed;
	plan->full = !o->quick;
	plan->run_busy = probe->run_busy;
	plan->deadline_us = probe->deadline_us - end_us;
	plan->epoch_us = (int64_t)clock_real_us() - (int64_t)clock_mono_us();
	return plan;
}

static int run(struct probe *probe, struct err *err)
{
	static const struct accel_ops *const engines[] = { &accel_cuda_copy_ops, NULL };
	const struct accel_ops *ops;
	struct all_to_all_plan *plan;
	int r = accel_choose("cuda", engines, &ops, err);

	if (r < 0)
		return r;
	plan = make_plan(probe);
	plan->emit = emit;
	plan->context = probe;
	/* GPUs that cannot be driven, or no NCCL, are nothing to measure here. */
	r = accel_open_watched(ops, probe->deadline_us - probe->budget_us / 10, &plan->accel, err);
	if (r == 0)
		r = nccl_load(&plan->library, err);
	if (r == 0)
		r = run_plan(probe, plan, err);
	if (r == -ETIMEDOUT)
		return r;
	if (plan->accel)
		ops->close(plan->accel);
	free(plan);
	return r == -ENOTSUP ? -ENODEV : r;
}

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = argp_options, .parser = parse_option };
	static const struct probe_check checks[] = {
		{ "all_to_all.busbw", "B/s", BETTER_HIGHER,
		  "NVLink or NVSwitch slower than it was, or than its kind is" },
		{ "all_to_all.size_bw", "B/s", BETTER_NONE,
		  "the same for smaller sizes: where launches take longer than they did" },
		{ "all_to_all.pair_bw", "B/s", BETTER_HIGHER,
		  "the GPU or the pair of GPUs whose links are slow" },
		{ "all_to_all.nvlinks", "1", BETTER_NONE,
		  "a GPU with fewer NVLinks up than its peers" },
		{ "all_to_all.correct", "1", BETTER_LOWER,
		  "data damaged on its way: elements that are wrong" },
	};
	static const struct probe_desc desc = {
		.name = "all-to-all",
		.summary = "All GPUs of the host send to all others through NCCL: bandwidth of all "
			   "and of each pair, NVLinks, and exact data.",
		.active = true,
		.budget_us = 30 * USEC_PER_SEC,
		.checks = checks,
		.n_checks = ARRAY_SIZE(checks),
		.options = &argp,
		.run = run,
	};
	struct options options = { .size = ALL_TO_ALL_SIZE_MAX };

	return probe_main(&desc, &options, argc, argv);
}
