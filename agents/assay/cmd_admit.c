/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay admit: may a job start on this host? Answers from verdict.json within milliseconds, or
 * after a quick run if a --budget is given and the verdict is stale. Since a job is about to
 * start, running active probes are first told to yield.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/assay/commands.h"
#include "agents/run/node_name.h"
#include "agents/run/verdict_file.h"
#include "agents/run/yield.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/judge/admit.h"
#include "lib/sys/clock_pair.h"
#include "lib/sys/file.h"
#include "lib/sys/host.h"
#include "lib/sys/machine.h"
#include "lib/sys/paths.h"
#include "lib/sys/term.h"
#include "lib/sys/usage.h"

enum {
	OPT_MAX_AGE = 0x100,
	OPT_BUDGET,
	OPT_JOB_NODES,
	OPT_FAIL_OPEN,
	OPT_FAIL_CLOSED,
	OPT_STRICT,
};

enum { STATUS_ADMITTED = 0, STATUS_REFUSED = 1, STATUS_USAGE = 2, JOB_NODES_MAX = 1000000 };

/* Daily full run (assay-full.timer), plus an hour for its random delay. */
#define DEFAULT_MAX_AGE_US (25 * USEC_PER_HOUR)
/* A killed child is reaped within this time. */
#define REAP_US (2 * USEC_PER_SEC)

struct options {
	struct admit_options admit;
	uint64_t budget_us;
	unsigned long job_nodes;
	enum output output;
};

static const struct argp_option option_table[] = {
	{ "max-age", OPT_MAX_AGE, "DURATION", 0, "Maximum age of a verdict (default 25h)", 0 },
	{ "budget", OPT_BUDGET, "DURATION", 0,
	  "If the verdict is stale, run the quick profile for at most this "
	  "long (default 0s: never)",
	  0 },
	{ "job-nodes", OPT_JOB_NODES, "N", 0,
	  "Number of nodes the job has; affects only the wording", 0 },
	{ "fail-open", OPT_FAIL_OPEN, NULL, 0, "Admit when there is no verdict (default)", 0 },
	{ "fail-closed", OPT_FAIL_CLOSED, NULL, 0, "Refuse when there is no verdict", 0 },
	{ "strict", OPT_STRICT, NULL, 0, "Refuse a degraded host too", 0 },
	{ "output", 'o', "FORMAT", 0, "table (default), json or kv", 0 },
	{ 0 },
};

static void parse_duration(struct argp_state *state, const char *option, const char *arg,
			   uint64_t *ret_us)
{
	struct err err = ERR_INIT;

	if (duration_parse(arg, ret_us, &err) < 0)
		argp_error(state, "%s: %s", option, err.msg);
}

static void parse_job_nodes(struct argp_state *state, const char *arg, unsigned long *ret)
{
	char *end = NULL;

	errno = 0;
	*ret = strtoul(arg, &end, 10);
	if (errno || end == arg || *end || arg[0] == '-' || *ret < 1 || *ret > JOB_NODES_MAX)
		argp_error(state, "--job-nodes: '%.40s' is not a number from 1 to %d", arg,
			   JOB_NODES_MAX);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPT_MAX_AGE:
		parse_duration(state, "--max-age", arg, &o->admit.max_age_us);
		return 0;
	case OPT_BUDGET:
		parse_duration(state, "--budget", arg, &o->budget_us);
		return 0;
	case OPT_JOB_NODES:
		parse_job_nodes(state, arg, &o->job_nodes);
		return 0;
	case OPT_FAIL_OPEN:
	case OPT_FAIL_CLOSED:
		o->admit.fail_closed = key == OPT_FAIL_CLOSED;
		return 0;
	case OPT_STRICT:
		o->admit.strict = true;
		return 0;
	case 'o':
		if (output_parse(arg, &o->output) < 0)
			argp_error(state, "-o: '%.40s' is not one of table, json, kv", arg);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%.80s': takes no arguments", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* A configuration that assayd cannot read must not block jobs. */
static char *name_of_host(void)
{
	(void)node_name_adopt(NULL);
	return host_name();
}

/* Decide from the present files. */
static void decide(const struct options *o, struct admit *ret)
{
	CLEANUP(verdict_release) struct verdict verdict = { 0 };
	CLEANUP(freep) char *node = name_of_host();
	CLEANUP(freep) char *boot_id = host_boot_id();
	CLEANUP(freep) char *why = NULL;
	CLEANUP(freep) char *machine = machine_read();
	const struct clock_pair now = { clock_real_us(), clock_boot_us(), boot_id };
	struct admit_options admit = o->admit;
	struct err err = ERR_INIT;
	int r = verdict_file_trusted(&err);

	if (r == 0)
		r = verdict_file_read(&verdict, &err);
	admit.machine = machine;
	if (r == -ENOENT)
		why = xstrdup("no verdict yet: assay run has not been run on this host");
	else if (r < 0)
		why = xasprintf("the verdict cannot be %s: %s", r == -EACCES ? "believed" : "read",
				err.msg);
	admit_decide(r < 0 ? NULL : &verdict, why, node, &now, &admit, ret);
}

/*
 * In the child: exec this program as `assay run --profile quick`. It dies with its parent, so
 * that it does not load the devices after the parent was killed.
 */
static void exec_quick(const char *budget, pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(STATUS_USAGE);
	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
	}
	(void)execl("/proc/self/exe", "assay", "run", "--profile", "quick", "--budget", budget,
		    "--wait", "0s", (char *)NULL);
	_exit(STATUS_USAGE);
}

static void reap(pid_t pid, int pid_fd, uint64_t deadline_us)
{
	struct pollfd p = { .fd = pid_fd, .events = POLLIN };

	while (poll(&p, 1, clock_left_ms(deadline_us)) < 0 && errno == EINTR)
		;
	/* On SIGTERM the run kills its probes and ends; SIGKILL if it does not. */
	if (!(p.revents & POLLIN)) {
		(void)kill(pid, SIGTERM);
		(void)poll(&p, 1, (int)(REAP_US / USEC_PER_MSEC));
		(void)kill(pid, SIGKILL);
	}
	(void)waitpid(pid, NULL, 0);
}

/* Whatever the result, the answer is then decided from the files. */
static void run_quick(uint64_t budget_us)
{
	char budget[CLOCK_DURATION_SIZE];
	CLEANUP(closep) int pid_fd = -1;
	const pid_t self = getpid();
	pid_t pid;

	duration_format(budget_us, budget);
	pid = fork();
	if (pid == 0)
		exec_quick(budget, self);
	if (pid < 0) {
		log_warning("cannot run the quick profile: %s; ignored", strerror(errno));
		return;
	}
	pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	reap(pid, pid_fd, clock_mono_us() + budget_us + REAP_US);
}

static void show_table(const struct options *o, const struct admit *a)
{
	static const enum paint paints[] = {
		[ADMIT_OK] = PAINT_GOOD,
		[ADMIT_DEGRADED] = PAINT_WARN,
		[ADMIT_BAD] = PAINT_BAD,
		[ADMIT_UNKNOWN] = PAINT_UNSURE,
	};
	const bool colour = term_wants_colour(stdout);
	size_t i;

	(void)printf("%s%s%s: %s", paint_on(colour, paints[a->answer]),
		     admit_answer_names[a->answer], paint_off(colour),
		     a->admit ? "admitted" : "refused");
	if (a->fleet)
		(void)printf(" by the controller");
	if (a->profile && a->fleet)
		(void)printf("; the last run was %s, %.0f s ago", a->profile, a->age_s);
	else if (a->profile && streq(a->profile, "probes"))
		(void)printf(", by a run of chosen probes %.0f s ago", a->age_s);
	else if (a->profile)
		(void)printf(", by a %s run %.0f s ago", a->profile, a->age_s);
	(void)printf("\n");
	/* Untrusted: from the controller, with names that hosts choose. */
	for (i = 0; i < a->n_reasons; i++) {
		CLEANUP(freep) char *clean = utf8_clean(a->reasons[i]);

		(void)printf("  %s\n", clean);
	}
	if (o->job_nodes > 1 && a->admit && a->answer == ADMIT_DEGRADED)
		(void)printf("  a synchronous job of %lu nodes runs at the pace of its slowest\n",
			     o->job_nodes);
}

static void show(const struct options *o, const struct admit *a)
{
	CLEANUP(json_freep) json_t *object = admit_encode(a);

	if (o->output == OUTPUT_TABLE)
		show_table(o, a);
	else
		command_print(object, o->output);
}

static void announce(void)
{
	CLEANUP(freep) char *run_dir = paths_run();
	struct err err = ERR_INIT;

	if (yield_announce(run_dir, &err) < 0)
		log_warning("%s, ignoring", err.msg);
}

int cmd_admit(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = parse,
		.doc = "Answers whether a job may start on this host: ok, degraded, bad or "
		       "unknown.\v"
		       "Exit status: 0 admitted, 1 refused, 2 usage.",
	};
	struct options o = { .admit.max_age_us = DEFAULT_MAX_AGE_US };
	CLEANUP(admit_release) struct admit a = { 0 };

	if (usage_parse(&argp, argc, argv, 0, NULL, &o) != 0)
		return STATUS_USAGE;
	announce();
	decide(&o, &a);
	if (a.answer == ADMIT_UNKNOWN && o.budget_us) {
		admit_release(&a);
		run_quick(o.budget_us);
		decide(&o, &a);
	}
	show(&o, &a);
	(void)command_written(); /* if printing fails, the exit status is still the answer */
	return a.admit ? STATUS_ADMITTED : STATUS_REFUSED;
}
