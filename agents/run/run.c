/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agents/run/again.h"
#include "agents/run/keep.h"
#include "agents/run/live.h"
#include "agents/run/node_name.h"
#include "agents/run/run_neighbors.h"
#include "agents/run/run_report.h"
#include "agents/run/run_settings.h"
#include "agents/run/runner.h"
#include "agents/run/stop.h"
#include "agents/run/yield.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/report.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "lib/topology/topology.h"
#include "lib/topology/topology_file.h"

static const char default_profile[] = "quick";

void run_release(struct run *run)
{
	json_decref(run->topology);
	verdict_release(&run->verdict);
	report_release(&run->report);
	plan_release(&run->plan);
	references_release(&run->references);
	profiles_release(&run->profiles);
}

static int read_profiles(struct run *run, struct err *err)
{
	CLEANUP(freep) char *dir = paths_policy();
	CLEANUP(freep) char *installed = xasprintf("%s/profiles.yaml", dir);
	const char *given = run->options.profiles;

	if (given && access(given, F_OK) < 0)
		return err_set(err, EINVAL, "%s: No such file or directory (--profiles)", given);
	return profiles_read(given ? given : installed, &run->profiles, err);
}

static int make_plan(struct run *run, struct err *err)
{
	const struct run_options *o = &run->options;
	const char *profile = o->profile ? o->profile : default_profile;
	int r;

	if (o->n_probes)
		r = plan_probes(&run->profiles, o->profile, o->probes, o->n_probes, &run->plan, err);
	else
		r = plan_profile(&run->profiles, profile, &run->plan, err);
	if (r == 0 && o->args)
		plan_hand_on(&run->plan, o->args, o->budget_us);
	if (r == 0 && o->budget_us)
		plan_fit(&run->plan, o->budget_us);
	return r;
}

bool run_disabled(void)
{
	CLEANUP(freep) char *dir = paths_conf();
	CLEANUP(freep) char *path = xasprintf("%s/disabled", dir);

	if (access(path, F_OK) < 0)
		return false;
	log_warning("nothing runs while %s exists", path);
	return true;
}

/* A topology given by name must be valid; this host's own may be unavailable. */
static int check_topology(struct err *err)
{
	CLEANUP(topology_release) struct topology t = { 0 };
	const char *path = secure_getenv("ASSAY_TOPOLOGY");
	int r = path && *path ? topology_from_file(path, &t, err) : 0;

	if (r != -ENOTSUP) /* XML in a build without hwloc: no topology in the report */
		return r;
	*err = (struct err)ERR_INIT;
	return 0;
}

int run_prepare(struct run *run, struct err *err)
{
	int r = node_name_adopt(err);

	if (r == 0)
		r = check_topology(err);
	if (r == 0)
		r = references_read(run->options.policy, run->options.sku, &run->references, err);
	if (r == 0)
		r = read_profiles(run, err);
	if (r == 0)
		r = make_plan(run, err);
	return r;
}

/* Called often by the runner: a good place to notice a signal to stop. */
static void on_progress(void *context, const struct runner_progress *p)
{
	struct live *live = context;

	if (stop_signal()) {
		live_end(live);
		log_warning("stopped by a signal; this run is discarded");
		stop_die();
	}
	live_progress(live, p);
}

static void add_problem(struct report *report, const char *probe, int code, const char *detail)
{
	struct problem p = {
		.probe = xstrdup(probe),
		.code = code,
		.detail = xstrdup(detail),
	};

	report_add_problem(report, &p);
}

/* Called by the runner after an event that may be a job. */
static bool job_arrived(void *context)
{
	struct yield *yield = context;
	char why[YIELD_WHY_SIZE];

	if (!yield_check(yield, why))
		return false;
	log_warning("a job arrived: %s; active probes give way", why);
	return true;
}

/*
 * Choose the probes of the plan to start now, into `ret` (room for all). Returns how many.
 * Devices in use are not loaded, unless --busy=run.
 */
static size_t choose_probes(struct run *run, const struct yield *yield, struct runner_probe *ret)
{
	char why[YIELD_WHY_SIZE];
	char detail[YIELD_WHY_SIZE + 32];
	const bool busy = run->plan.active && !run->options.run_busy && yield_busy(yield, why);
	size_t n = 0, i;

	for (i = 0; i < run->plan.n; i++) {
		if (!busy || !run->plan.probes[i].active) {
			ret[n++] = run->plan.probes[i];
			continue;
		}
		(void)snprintf(detail, sizeof(detail), "not started: %s", why);
		add_problem(&run->report, run->plan.probes[i].name, PROBLEM_BUSY, detail);
	}
	return n;
}

/* Report every planned probe with the reason why nothing is run. */
static void decline(struct run *run)
{
	size_t i;

	for (i = 0; i < run->plan.n; i++)
		add_problem(&run->report, run->plan.probes[i].name, run->options.decline_code,
			    run->options.decline);
}

/* A repeat of probes that were disturbed. */
struct repeat {
	struct run *run;
	const struct yield *yield;
	struct runner_options *options;
	struct runner_probe probes[RUNNER_PROBES_MAX];
	size_t n, done;
};

/*
 * Choose the probes to repeat: not while somebody uses the devices, and only if their own budget
 * is left. With --busy=run they have values and need no repeat.
 */
static bool choose_again(struct repeat *repeat)
{
	const struct run *run = repeat->run;
	uint64_t left_us = clock_left_us(repeat->options->deadline_us);
	char why[YIELD_WHY_SIZE];
	size_t i;

	repeat->n = 0;
	if (run->options.run_busy || run_options_meet(&run->options))
		return false;
	for (i = 0; i < run->plan.n; i++) {
		const struct runner_probe *probe = &run->plan.probes[i];

		if (!probe->active || probe->budget_us > left_us ||
		    !again_busy(&run->report, probe->name))
			continue;
		left_us -= probe->budget_us;
		repeat->probes[repeat->n++] = *probe;
	}
	return repeat->n > 0 && !yield_busy(repeat->yield, why);
}

static int run_again(struct repeat *repeat, struct err *err)
{
	CLEANUP(report_release) struct report more = { 0 };
	int r;

	repeat->done++;
	/* The first run has already waited for the lock. */
	repeat->options->lock_wait_us = 0;
	r = runner_run(repeat->probes, repeat->n, repeat->options, &more, err);
	if (r == 0)
		(void)again_merge(&repeat->run->report, &more);
	return r;
}

static int run_probes(struct run *run, struct live *live, struct err *err)
{
	CLEANUP(freep) char *run_dir = paths_run();
	CLEANUP(yield_closep) struct yield *yield = NULL;
	struct runner_options options = {
		.run_dir = run_dir,
		.deadline_us = clock_mono_us() + run->plan.budget_us + run->options.wait_us,
		.lock_wait_us = run->options.wait_us,
		.run_busy = run->options.run_busy,
		.progress = on_progress,
		.progress_context = live,
		.stop = job_arrived,
	};
	struct runner_probe probes[RUNNER_PROBES_MAX];
	struct repeat repeat = { .run = run, .options = &options };
	size_t n;
	int r;

	(void)file_mkdirs(run_dir, NULL); /* the runner reports failure when it needs it */
	r = yield_open(run_dir, &yield, err);
	if (r < 0)
		return r;
	options.stop_fd = yield_fd(yield);
	options.stop_context = yield;
	n = choose_probes(run, yield, probes);
	r = runner_run(probes, n, &options, &run->report, err);
	repeat.yield = yield;
	while (r == 0 && repeat.done < AGAIN_MAX && choose_again(&repeat))
		r = run_again(&repeat, err);
	return r;
}

static int make_report(struct run *run, struct err *err)
{
	const uint64_t start_us = clock_mono_us();
	struct live live;
	int r = 0;

	stop_init();
	live_init(&live, stderr);
	run_report_start(&run->report, run->plan.profile, &run->topology);
	if (run->options.order)
		run->report.order = json_pack("{s:s, s:s}", "id", run->options.order, "kind",
					      run->options.order_kind);
	if (run->references.has_sku)
		run->report.sku = xstrdup(run->references.sku.name);
	if (run->options.decline)
		decline(run);
	else
		r = run_probes(run, &live, err);
	live_end(&live);
	plan_report_absent(&run->plan, &run->report);
	references_report(&run->references, &run->report);
	run_report_settings(&run->report);
	run_report_neighbors(&run->report, &run->topology);
	run_report_fit(&run->report);
	run->report.duration_s = (double)(clock_mono_us() - start_us) / (double)USEC_PER_SEC;
	return r;
}

static void judge(struct run *run)
{
	const struct judge_inputs inputs = references_inputs(&run->references);

	verdict_release(&run->verdict);
	verdict_judge(&run->report, &inputs, &run->verdict);
}

/*
 * A full disk, or a report that will not reach the controller, is a problem in the report.
 * Missing write permission (a manual run by any user) only prints a line.
 */
static bool is_problem(const struct run *run, int r)
{
	return run->options.report || keep_had_no_room(r);
}

/* A failure to save never fails the run. */
static void judge_and_keep(struct run *run)
{
	struct err err = ERR_INIT;
	struct keep keep = {
		.report = &run->report,
		.verdict = &run->verdict,
		.references = &run->references,
		.topology = run->topology,
		.active = run->plan.active,
		.spool = run->options.report,
		.aside = run_options_meet(&run->options),
	};
	int r = keep_number(&run->report, &err);

	references_recall(&run->references, run->plan.profile);
	references_name(&run->references, &run->report);
	judge(run);
	if (r == 0)
		r = keep_report(&keep, &err);
	if (r == 0)
		return;
	log_warning("%s; this run is not stored", err.msg);
	if (!is_problem(run, r))
		return;
	add_problem(&run->report, "state", PROBLEM_SET_UP, err.msg);
	judge(run);
}

int run_make(struct run *run, struct err *err)
{
	int r = make_report(run, err);

	if (r == 0)
		judge_and_keep(run);
	return r;
}
