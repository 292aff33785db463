/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/harness/probe.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/host.h"
#include "lib/sys/lock.h"
#include "lib/sys/paths.h"
#include "lib/sys/state.h"
#include "lib/sys/usage.h"
#include "lib/sys/watched.h"

enum { OPT_DESCRIBE = 0x100, OPT_BUDGET, OPT_BUSY, OPT_SEED };

struct settings {
	struct probe *probe;
	bool describe;
};

static const struct argp_option common_options[] = {
	{ "describe", OPT_DESCRIBE, NULL, 0, "Print what this probe can check, as JSON", 0 },
	{ "budget", OPT_BUDGET, "DURATION", 0, "Time limit, such as 10s", 0 },
	{ "busy", OPT_BUSY, "skip|run", 0,
	  "What to do while a device is in use by others (default skip)", 0 },
	{ "seed", OPT_SEED, "N", 0, "Seed for pseudo-random data (default 1)", 0 },
	{ 0 },
};

static void parse_budget(const char *arg, struct argp_state *state, struct probe *probe)
{
	struct err err = ERR_INIT;

	if (duration_parse(arg, &probe->budget_us, &err) < 0)
		argp_failure(state, PROBE_USAGE, 0, "--budget: %s", err.msg);
	if (probe->budget_us == 0)
		argp_failure(state, PROBE_USAGE, 0, "--budget: must be longer than 0");
	probe->budget_given = true;
}

static void parse_busy(const char *arg, struct argp_state *state, struct probe *probe)
{
	probe->run_busy = strcmp(arg, "run") == 0;
	if (!probe->run_busy && strcmp(arg, "skip") != 0)
		argp_failure(state, PROBE_USAGE, 0, "--busy: '%s' is neither skip nor run", arg);
}

static void parse_seed(const char *arg, struct argp_state *state, struct probe *probe)
{
	char *end = NULL;

	errno = 0;
	probe->seed = strtoull(arg, &end, 10);
	if (errno || end == arg || *end || arg[0] == '-')
		argp_failure(state, PROBE_USAGE, 0, "--seed: '%s' is not a whole number", arg);
}

static error_t parse_common(int key, char *arg, struct argp_state *state)
{
	struct settings *settings = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		if (settings->probe->desc->options)
			state->child_inputs[0] = settings->probe;
		return 0;
	case OPT_DESCRIBE:
		settings->describe = true;
		return 0;
	case OPT_BUDGET:
		parse_budget(arg, state, settings->probe);
		return 0;
	case OPT_BUSY:
		parse_busy(arg, state, settings->probe);
		return 0;
	case OPT_SEED:
		parse_seed(arg, state, settings->probe);
		return 0;
	case ARGP_KEY_ARG:
		argp_failure(state, PROBE_USAGE, 0, "'%s': takes no arguments", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int print_description(const struct probe *probe)
{
	const struct probe_desc *desc = probe->desc;
	CLEANUP(freep) char *line = NULL;
	CLEANUP(json_freep) json_t *object = NULL;
	char budget[CLOCK_DURATION_SIZE];
	json_t *checks = json_array();
	size_t i;

	for (i = 0; i < desc->n_checks; i++)
		json_array_append_new(checks, json_pack("{s:s, s:s, s:s, s:s}", "check",
							desc->checks[i].name, "unit",
							desc->checks[i].unit, "better",
							sample_better_names[desc->checks[i].better],
							"finds", desc->checks[i].finds));
	duration_format(probe->budget_us, budget);
	object = json_pack("{s:i, s:s, s:s, s:s, s:b, s:s, s:o}", "v", 1, "kind", "describe",
			   "probe", desc->name, "summary", desc->summary, "active", desc->active,
			   "budget", budget, "checks", checks);
	line = json_line(object);
	if (puts(line) >= 0 && fflush(stdout) == 0)
		return PROBE_RAN;
	log_error("cannot print the description");
	return PROBE_COULD_NOT;
}

/*
 * The last resort of a probe run by hand: even a call that hangs forever ends. The runner kills
 * earlier and harder.
 */
static void on_overrun(int signal_number UNUSED)
{
	static const char words[] = "probe: the budget is used up, stopping\n";

	(void)!write(STDERR_FILENO, words, sizeof(words) - 1);
	_exit(PROBE_COULD_NOT);
}

static void arm_overrun(uint64_t us)
{
	struct itimerval timer = {
		.it_value = { .tv_sec = (time_t)(us / USEC_PER_SEC),
			      .tv_usec = (suseconds_t)(us % USEC_PER_SEC) },
	};
	struct sigaction action = { .sa_handler = on_overrun };

	(void)sigaction(SIGALRM, &action, NULL);
	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

/*
 * Active probes run one at a time on a host. If the run directory is not writable for a probe run
 * by hand, it continues without the lock and says so.
 */
static int take_active_lock(const struct probe *probe, int *ret_fd, struct err *err)
{
	CLEANUP(freep) char *dir = paths_run();
	CLEANUP(freep) char *path = xasprintf("%s/active.lock", dir);
	int r;

	if (!probe->desc->active || lock_held_for_us())
		return 0;
	r = file_mkdirs(dir, err);
	if (r == 0)
		r = lock_take(path, clock_mono_us() + probe->budget_us / 4, ret_fd, err);
	if (r == -EACCES || r == -EPERM || r == -EROFS) {
		log_warning("%s; running without the lock for active probes", err->msg);
		return 0;
	}
	return r;
}

static int exit_status(int r, const struct err *err)
{
	if (r == 0)
		return PROBE_RAN;
	log_error("%s", err->msg[0] ? err->msg : strerror(-r));
	switch (r) {
	case -ENODEV:
		return PROBE_NOT_APPLICABLE;
	case -EINVAL:
		return PROBE_USAGE;
	default:
		return PROBE_COULD_NOT;
	}
}

static void parse(struct probe *probe, struct settings *settings, int argc, char **argv)
{
	const struct argp_child children[] = {
		{ probe->desc->options, 0, "Options of this probe:", 1 },
		{ 0 },
	};
	CLEANUP(freep)
	char *doc = xasprintf("%s\vPrints one JSON sample per line on stdout. Exit status: 0 ran, "
			      "1 could not run, 2 usage, 77 nothing to measure here.",
			      probe->desc->summary);
	const struct argp argp = {
		.options = common_options,
		.parser = parse_common,
		.doc = doc,
		.children = probe->desc->options ? children : NULL,
	};

	argp_err_exit_status = PROBE_USAGE;
	(void)usage_parse(&argp, argc, argv, 0, NULL, settings);
}

int probe_main(const struct probe_desc *desc, void *options, int argc, char **argv)
{
	struct probe probe = {
		.desc = desc, .budget_us = desc->budget_us, .seed = 1, .options = options
	};
	struct settings settings = { .probe = &probe };
	CLEANUP(closep) int lock_fd = -1;
	struct err err = ERR_INIT;
	int r;

	log_init(program_invocation_short_name, LOG_INFO);
	parse(&probe, &settings, argc, argv);
	if (settings.describe)
		return print_description(&probe);
	(void)signal(SIGPIPE, SIG_IGN);
	probe.deadline_us = clock_mono_us() + probe.budget_us;
	arm_overrun(probe.budget_us + PROBE_GRACE_US);
	r = take_active_lock(&probe, &lock_fd, &err);
	if (r == 0)
		r = desc->run(&probe, &err);
	return exit_status(r, &err);
}

/* Called under the lock: work that was given up may go on printing until it notices. */
static int print_line(struct probe *probe, char *line)
{
	size_t len = strlen(line);

	if (watched_is_left())
		return -ECANCELED;
	if (len >= SAMPLE_LINE_MAX || probe->n_samples >= SAMPLE_COUNT_MAX ||
	    probe->n_bytes + len >= PROBE_OUTPUT_MAX)
		return -E2BIG;
	line[len++] = '\n'; /* replaces the NUL: one write per line */
	probe->n_samples++;
	probe->n_bytes += len;
	return file_write_all(STDOUT_FILENO, line, len);
}

int probe_emit(struct probe *probe, struct sample *s)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	CLEANUP(json_freep) json_t *object = sample_encode(s);
	CLEANUP(freep) char *line = json_line(object);
	int r;

	sample_release(s);
	(void)pthread_mutex_lock(&lock);
	r = print_line(probe, line);
	(void)pthread_mutex_unlock(&lock);
	return r;
}

int probe_emit_of(void *probe, struct sample *s)
{
	return probe_emit(probe, s);
}

uint64_t probe_left_us(const struct probe *probe)
{
	return clock_left_us(probe->deadline_us);
}

json_t *probe_load(const struct probe *probe, bool any_boot)
{
	CLEANUP(freep) char *name = xasprintf("probe/%s.json", probe->desc->name);
	CLEANUP(freep) char *boot_id = host_boot_id();
	CLEANUP(json_freep) json_t *value = NULL;
	int r = state_load(name, &value, NULL);

	if (r < 0 || !json_is_object(value))
		return json_object();
	if (!any_boot && !streq(json_string_value(json_object_get(value, "boot_id")), boot_id))
		return json_object();
	return TAKE(value);
}

int probe_save(const struct probe *probe, json_t *value, struct err *err)
{
	CLEANUP(freep) char *name = xasprintf("probe/%s.json", probe->desc->name);
	CLEANUP(freep) char *boot_id = host_boot_id();

	json_object_set_new(value, "boot_id", json_string(boot_id));
	return state_save(name, value, err);
}
