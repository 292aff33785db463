/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/probe_problem.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"

/* Exit statuses of a probe, as defined in probes/harness/probe.h. */
enum { STATUS_RAN = 0, STATUS_USAGE = 2, STATUS_NOT_APPLICABLE = 77 };

/* Exit status, or -1 if it was killed. */
static int exit_status(const struct probe_end *end)
{
	const struct supervisor_report *w = end->supervisor;

	if (w->start_errno || w->lost || w->timed_out || w->stopped || !WIFEXITED(w->status))
		return -1;
	return WEXITSTATUS(w->status);
}

/* `what`, followed by the program's own last message. */
static char *with_reason(const struct probe_end *end, const char *what)
{
	CLEANUP(freep) char *reason = err_tail_last_line(end->err_tail);

	return reason ? xasprintf("%s: %s", what, reason) : xstrdup(what);
}

/* Each of these returns a text, which the caller frees, if it applies, else NULL. */

/* A problem of this process or host, not of the program to be started? */
static bool is_shortage(int why)
{
	static const int shortages[] = { EMFILE, ENFILE, EAGAIN, ENOMEM };
	size_t i = 0;

	while (i < ARRAY_SIZE(shortages) && shortages[i] != why)
		i++;
	return i < ARRAY_SIZE(shortages);
}

static char *say_not_started(const struct probe_end *end, bool shortage)
{
	int why = end->supervisor->start_errno;

	return why && is_shortage(why) == shortage
		       ? xasprintf("cannot start %s: %s", end->path, strerror(why))
		       : NULL;
}

static char *say_not_executable(const struct probe_end *end)
{
	return say_not_started(end, false);
}

static char *say_shortage(const struct probe_end *end)
{
	return say_not_started(end, true);
}

static char *say_aborted(const struct probe_end *end)
{
	return end->aborted ? xstrdup("aborted: a job arrived") : NULL;
}

static char *say_too_much(const struct probe_end *end)
{
	char *words = NULL;

	return end->output->too_much && probe_output_verdict(end->output, &words) >= 0 ? words
										       : NULL;
}

static char *say_timeout(const struct probe_end *end)
{
	char budget[CLOCK_DURATION_SIZE];

	if (!end->supervisor->timed_out)
		return NULL;
	duration_format(end->budget_us, budget);
	return xasprintf("killed at the end of its budget of %s, %.2f s of CPU used", budget,
			 (double)end->supervisor->cpu_us / (double)USEC_PER_SEC);
}

static char *say_unkillable(const struct probe_end *end)
{
	const struct supervisor_report *w = end->supervisor;
	CLEANUP(freep) char *name = text_clean(w->left_name, strlen(w->left_name));

	if (!w->left)
		return NULL;
	/* It dies once it gets a CPU, but never if it loops in the kernel. */
	if (w->left_state == 'R')
		return xasprintf("process %ld (%s) was killed but has not ended yet (state R): the "
				 "CPUs are overloaded, or it loops in the kernel",
				 (long)w->left, name);
	return xasprintf("process %ld (%s) was killed but does not die (state %c): reboot needed",
			 (long)w->left, name, w->left_state);
}

static char *say_lost(const struct probe_end *end)
{
	return end->supervisor->lost ? xstrdup("the process that watched it was killed or hung: "
					       "some of its processes may still be running")
				     : NULL;
}

static char *say_crashed(const struct probe_end *end)
{
	const struct supervisor_report *w = end->supervisor;
	const char *name;

	if (w->start_errno || w->lost || w->timed_out || w->stopped || !WIFSIGNALED(w->status))
		return NULL;
	name = sigabbrev_np(WTERMSIG(w->status));
	if (!name)
		return xasprintf("died by signal %d", WTERMSIG(w->status));
	if (WTERMSIG(w->status) == SIGKILL)
		return xasprintf("killed by SIGKILL from outside (out of memory? it used %llu MiB)",
				 (unsigned long long)(w->peak_kib / 1024));
	return xasprintf("died by SIG%s", name);
}

static char *say_usage(const struct probe_end *end)
{
	return exit_status(end) == STATUS_USAGE ? with_reason(end, "exit status 2 (usage)") : NULL;
}

static char *say_exit(const struct probe_end *end)
{
	CLEANUP(freep) char *what = NULL;
	int status = exit_status(end);

	if (status <= STATUS_RAN || status == STATUS_USAGE || status == STATUS_NOT_APPLICABLE)
		return NULL;
	what = xasprintf("exit status %d", status);
	return with_reason(end, what);
}

static char *say_garbage(const struct probe_end *end)
{
	char *words = NULL;

	if (!end->output->n_garbage || end->output->too_much)
		return NULL;
	(void)probe_output_verdict(end->output, &words);
	return words;
}

/* The probe's last message, without the leading program name. */
static char *own_words(const struct probe_end *end)
{
	CLEANUP(freep) char *name = xasprintf("assay-probe-%s: ", end->probe);
	CLEANUP(freep) char *line = err_tail_last_line(end->err_tail);

	if (!line || !starts_with(line, name))
		return TAKE(line);
	return xstrdup(line + strlen(name));
}

static char *say_not_applicable(const struct probe_end *end)
{
	char *reason;

	if (exit_status(end) != STATUS_NOT_APPLICABLE)
		return NULL;
	reason = own_words(end);
	return reason ? reason : xstrdup("nothing to measure here (no reason given)");
}

static char *say_empty(const struct probe_end *end)
{
	char *words = NULL;

	if (exit_status(end) != STATUS_RAN ||
	    probe_output_verdict(end->output, &words) == PROBLEM_EMPTY)
		return words;
	free(words);
	return NULL;
}

/* Most serious first. */
static const struct {
	int code;
	char *(*say)(const struct probe_end *end);
} rows[] = {
	{ PROBLEM_NOT_EXECUTABLE, say_not_executable },
	{ PROBLEM_SET_UP, say_shortage },
	{ PROBLEM_BUSY, say_aborted },
	{ PROBLEM_TOO_MUCH, say_too_much },
	{ PROBLEM_TIMEOUT, say_timeout },
	{ PROBLEM_TIMEOUT, say_unkillable },
	{ PROBLEM_CRASHED, say_lost },
	{ PROBLEM_CRASHED, say_crashed },
	{ PROBLEM_SET_UP, say_usage },
	{ PROBLEM_EXIT, say_exit },
	{ PROBLEM_GARBAGE, say_garbage },
	{ PROBLEM_NOT_APPLICABLE, say_not_applicable },
	{ PROBLEM_EMPTY, say_empty },
};

bool probe_problem_judge(const struct probe_end *end, struct problem *ret)
{
	struct problem problem = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *words = rows[i].say(end);
		char *joined;

		if (!words)
			continue;
		if (!problem.detail) {
			problem.code = rows[i].code;
			problem.detail = TAKE(words);
			continue;
		}
		joined = xasprintf("%s; also %s", problem.detail, words);
		free(problem.detail);
		problem.detail = joined;
	}
	if (!problem.detail)
		return false;
	problem.probe = xstrdup(end->probe);
	problem.err_tail = err_tail_text(end->err_tail);
	*ret = problem;
	return true;
}
