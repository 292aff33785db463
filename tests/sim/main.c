/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-sim: runs a fleet on a simulated clock through the judges and the policy
 * of the controller, and grades them against the ground truth. docs/sim.md
 */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/json/kv.h"
#include "lib/sys/term.h"
#include "lib/sys/usage.h"
#include "tests/sim/sim.h"

enum { STATUS_FAILED = 1, STATUS_USAGE = 2 };
enum {
	KEY_NODES = 256,
	KEY_DAYS,
	KEY_SEED,
	KEY_POLICY,
	KEY_FAULTS,
	KEY_EVERY_PASSIVE,
	KEY_EVERY_WINDOW,
	KEY_JOBS,
	KEY_TRACE,
	KEY_SPREAD
};

static const struct argp_option options[] = {
	{ "nodes", KEY_NODES, "N", 0, "hosts, 1000 by default", 0 },
	{ "days", KEY_DAYS, "D", 0, "days, 10 by default", 0 },
	{ "seed", KEY_SEED, "S", 0, "of all chance, 1 by default", 0 },
	{ "policy", KEY_POLICY, "FILE", 0, "policy, its mode taken as enforce", 0 },
	{ "faults", KEY_FAULTS, "FILE", 0, "faults and noise: docs/sim.md", 0 },
	{ "spread", KEY_SPREAD, "X", 0,
	  "how far good GPUs differ: 1 (3.4 %) by default, 0.5 half of it", 0 },
	{ "every-passive", KEY_EVERY_PASSIVE, NULL, 0,
	  "judge also passive runs that say nothing new", 0 },
	{ "jobs", KEY_JOBS, "N", 0, "jobs that the fleet runs; none by default", 0 },
	{ "every-window", KEY_EVERY_WINDOW, NULL, 0,
	  "analyse also windows of jobs that plainly blame nobody", 0 },
	{ "trace", KEY_TRACE, NULL, 0, "each decision, on standard error", 0 },
	{ "output", 'o', "FORMAT", 0, "table, json or kv", 0 },
	{ 0 },
};

struct arguments {
	struct sim_options sim;
	const char *faults;
	uint64_t jobs; /* 0: as in the file */
	double spread; /* NAN: as in the file, or the default */
	enum output output;
};

static int read_number(const char *text, double max, uint64_t *ret)
{
	char *end = NULL;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || !*text || *end || text[0] == '-' || (double)n > max)
		return -EINVAL;
	*ret = n;
	return 0;
}

static int read_factor(const char *text, double max, double *ret)
{
	char *end = NULL;
	double x = strtod(text, &end);

	if (!*text || *end || !(x >= 0 && x <= max))
		return -EINVAL;
	*ret = x;
	return 0;
}

static void take_number(struct argp_state *state, const char *name, const char *arg, double max,
			uint64_t *ret)
{
	if (read_number(arg, max, ret) < 0 || *ret == 0)
		argp_error(state, "--%s '%s': expected a number from 1 to %.0f", name, arg, max);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_NODES:
		take_number(state, "nodes", arg, SIM_NODES_MAX, &a->sim.nodes);
		break;
	case KEY_DAYS:
		take_number(state, "days", arg, (double)SIM_DAYS_MAX, &a->sim.days_us);
		a->sim.days_us *= USEC_PER_DAY;
		break;
	case KEY_SEED:
		take_number(state, "seed", arg, 1e9, &a->sim.seed);
		break;
	case KEY_POLICY:
		a->sim.policy = arg;
		break;
	case KEY_FAULTS:
		a->faults = arg;
		break;
	case KEY_SPREAD:
		if (read_factor(arg, NOISE_SPREAD_MAX, &a->spread) < 0)
			argp_error(state, "--spread '%s': expected a factor from 0 to %d", arg,
				   NOISE_SPREAD_MAX);
		break;
	case KEY_EVERY_PASSIVE:
		a->sim.every_passive = true;
		break;
	case KEY_EVERY_WINDOW:
		a->sim.every_window = true;
		break;
	case KEY_JOBS:
		take_number(state, "jobs", arg, JOB_PLAN_MAX, &a->jobs);
		break;
	case KEY_TRACE:
		a->sim.trace = true;
		break;
	case 'o':
		if (output_parse(arg, &a->output) < 0)
			argp_error(state, "--output '%s': expected table, json or kv", arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int read_faults(const char *path, struct faults *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r;

	if (!path)
		return 0;
	r = yaml_read_file(path, &value, err);
	if (r < 0)
		return r;
	root = jval_root(value, path);
	return faults_decode(&root, ret, err);
}

static void print(const struct sim *s, enum output output)
{
	CLEANUP(json_freep) json_t *value = NULL;
	CLEANUP(freep) char *text = NULL;

	if (output == OUTPUT_TABLE) {
		grade_print(s, stdout);
		return;
	}
	value = grade_encode(s);
	if (output == OUTPUT_KV) {
		kv_print(value, stdout);
		return;
	}
	text = json_line(value);
	(void)puts(text);
}

/* Returns false if the output could not be written. */
static bool show(const struct sim *s, enum output output)
{
	print(s, output);
	if (!ferror(stdout) && fflush(stdout) == 0)
		return true;
	(void)fputs("assay-sim: cannot write the result\n", stderr);
	return false;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse,
		NULL,
		"Simulate a fleet and grade its judges.\v"
		"Hosts make a passive run every 5 minutes, a quick one "
		"when 4 hours are over and no job "
		"runs (idle a third of the time: about five a day), and a "
		"test when the policy orders one. "
		"A cordoned host is repaired after a day. Exit status 1: "
		"a host was cordoned that is "
		"well, or a budget was exceeded.",
		NULL,
		NULL,
		NULL
	};
	struct arguments a = { .sim = { .nodes = 1000, .days_us = 10 * USEC_PER_DAY, .seed = 1 },
			       .spread = NAN };
	struct faults faults = faults_init();
	struct sim sim = { .options = &a.sim, .faults = &faults };
	struct err err = ERR_INIT;
	bool shown = false;
	int r;

	argp_err_exit_status = STATUS_USAGE;
	if (usage_parse(&argp, argc, argv, 0, NULL, &a))
		return STATUS_USAGE;
	r = read_faults(a.faults, &faults, &err);
	if (r == 0 && !isnan(a.spread))
		faults.noise.spread = a.spread;
	if (r == 0 && a.jobs > 0)
		faults.jobs.count = a.jobs;
	if (r == 0 && faults.random)
		faults_add_usual(&faults, a.sim.nodes, a.sim.days_us, a.sim.seed);
	if (r == 0)
		r = sim_run(&sim, &err);
	if (r < 0)
		(void)fprintf(stderr, "%s\n", err.msg); /* starts with the file's name */
	else
		shown = show(&sim, a.output);
	r = r < 0						      ? STATUS_USAGE
	    : !shown || sim.grade.false_cordons || sim.grade.overruns ? STATUS_FAILED
								      : 0;
	sim_release(&sim);
	faults_release(&faults);
	return r;
}
