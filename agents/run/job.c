/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "agents/run/probe_problem.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

/*
 * A probe plans to use its whole budget, so it gets some extra time to finish its output before
 * it is killed: a quarter of the budget, at most this.
 */
#define GRACE_MAX_US (250 * USEC_PER_MSEC)

/* Beyond the time that a supervisor needs for killing: after that the supervisor itself hangs. */
#define SUPERVISOR_SLACK_US (3 * USEC_PER_SEC)

enum {
	READ_SIZE = 64 * 1024,
	LAST_READS_MAX = 128, /* of what is left in a pipe when the probe has ended */
	MORE_ARGS = 6,	      /* argv[0], --budget D, --busy B, NULL */
};

void job_init(struct job *job, const struct runner_probe *probe)
{
	*job = (struct job){ .probe = probe, .supervisor.fd = -1, .out_fd = -1, .err_fd = -1 };
	probe_output_init(&job->output);
}

void job_release(struct job *job)
{
	closep(&job->out_fd);
	closep(&job->err_fd);
	probe_output_release(&job->output);
	problem_release(&job->problem);
}

void job_refuse(struct job *job, int code, const char *why)
{
	problem_release(&job->problem);
	job->problem = (struct problem){
		.probe = xstrdup(job->probe->name),
		.code = code,
		.detail = xstrdup(why),
	};
	job->has_problem = true;
	job->state = JOB_DONE;
}

/* --- start -------------------------------------------------------------------- */

/* Our environment with LC_ALL=C and, for an active probe, ASSAY_LOCK_HELD=1. */
static char **make_env(bool active)
{
	size_t n = strv_len(environ), at = 0, i;
	char **env = xcalloc(n + 3, sizeof(*env));

	for (i = 0; i < n; i++) {
		if (starts_with(environ[i], "LC_ALL="))
			continue;
		if (active && starts_with(environ[i], "ASSAY_LOCK_HELD="))
			continue;
		env[at++] = xstrdup(environ[i]);
	}
	env[at++] = xstrdup("LC_ALL=C");
	if (active)
		env[at++] = xstrdup("ASSAY_LOCK_HELD=1");
	return env;
}

static char **make_argv(const struct job *job, bool run_busy)
{
	size_t n = job->probe->args ? strv_len(job->probe->args) : 0, at = 0, i;
	char **argv = xcalloc(n + MORE_ARGS, sizeof(*argv));
	char budget[CLOCK_DURATION_SIZE];

	duration_format(job->budget_us, budget);
	argv[at++] = xstrdup(job->probe->path);
	for (i = 0; i < n; i++)
		argv[at++] = xstrdup(job->probe->args[i]);
	argv[at++] = xstrdup("--budget");
	argv[at++] = xstrdup(budget);
	argv[at++] = xstrdup("--busy");
	argv[at++] = xstrdup(run_busy ? "run" : "skip");
	return argv;
}

/* Its own budget, or what is left of the run's. False if nothing is left. */
static bool set_times(struct job *job, uint64_t deadline_us)
{
	uint64_t now_us = clock_mono_us(), left_us = clock_left_us(deadline_us);
	uint64_t whole_us = MIN(job->probe->budget_us, left_us);
	uint64_t grace_us = MIN(whole_us / 4, GRACE_MAX_US);
	uint64_t told_us = MIN(job->probe->budget_us, left_us - grace_us);

	job->budget_us = told_us / USEC_PER_MSEC * USEC_PER_MSEC;
	job->kill_us = now_us + told_us + grace_us;
	return job->budget_us > 0;
}

/* A pipe of which only our end, the read end, is non-blocking. */
static int make_pipe(int ret_ends[2], struct err *err)
{
	if (pipe2(ret_ends, O_CLOEXEC) < 0)
		return err_errno(err, errno, "cannot make a pipe");
	(void)fcntl(ret_ends[0], F_SETFL, O_NONBLOCK);
	return 0;
}

static int launch(struct job *job, const struct job_how *how, struct err *err)
{
	CLEANUP(strv_freep) char **argv = make_argv(job, how->run_busy);
	CLEANUP(strv_freep) char **env = make_env(job->probe->active);
	int out[2] = { -1, -1 }, errors[2] = { -1, -1 };
	int r = make_pipe(out, err);

	if (r == 0)
		r = make_pipe(errors, err);
	if (r == 0) {
		const struct supervisor_spec spec = {
			.path = job->probe->path,
			.argv = argv,
			.envp = env,
			.deadline_us = job->kill_us,
			.out_fd = out[1],
			.err_fd = errors[1],
			.keep_fd = job->probe->active ? how->lock_fd : -1,
		};

		r = supervisor_start(&spec, &job->supervisor, err);
	}
	closep(&out[1]);
	closep(&errors[1]);
	job->out_fd = out[0];
	job->err_fd = errors[0];
	return r;
}

void job_start(struct job *job, const struct job_how *how)
{
	struct err err = ERR_INIT;

	if (!set_times(job, how->deadline_us)) {
		job_refuse(job, PROBLEM_TIMEOUT, "not started: the run's time was up");
		return;
	}
	job->state = JOB_RUNNING;
	if (launch(job, how, &err) < 0)
		job_refuse(job, PROBLEM_SET_UP, err.msg);
}

/* --- while it runs -------------------------------------------------------------- */

void job_poll(const struct job *job, struct pollfd *p)
{
	bool running = job->state == JOB_RUNNING;

	p[0] = (struct pollfd){ .fd = running ? job->supervisor.fd : -1, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = running ? job->out_fd : -1, .events = POLLIN };
	p[2] = (struct pollfd){ .fd = running ? job->err_fd : -1, .events = POLLIN };
}

/* The supervisor starts killing. */
static void stop(struct job *job)
{
	supervisor_stop(&job->supervisor);
	job->kill_us = MIN(job->kill_us, clock_mono_us());
}

/* Read a piece of stdout or stderr. False if there is none now or any more. */
static bool read_piece(struct job *job, int *fd)
{
	char bytes[READ_SIZE];
	ssize_t n;

	if (*fd < 0)
		return false;
	n = read(*fd, bytes, sizeof(bytes));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n > 0 && fd == &job->err_fd) {
		err_tail_add(&job->err_tail, bytes, (size_t)n);
		return true;
	}
	if (n > 0 && probe_output_feed(&job->output, bytes, (size_t)n) == 0)
		return true;
	/* end of file, or a limit was exceeded: read no more, so that memory stays bounded */
	closep(fd);
	*fd = -1;
	if (job->output.too_much)
		stop(job);
	return false;
}

static void read_rest(struct job *job, int *fd)
{
	int i;

	for (i = 0; i < LAST_READS_MAX && read_piece(job, fd); i++)
		;
	closep(fd);
	*fd = -1;
}

static void finish(struct job *job)
{
	struct supervisor_report report;
	struct probe_end end = {
		.probe = job->probe->name,
		.path = job->probe->path,
		.output = &job->output,
		.err_tail = &job->err_tail,
		.supervisor = &report,
		.budget_us = job->budget_us,
	};

	supervisor_finish(&job->supervisor, &report);
	read_rest(job, &job->out_fd);
	read_rest(job, &job->err_fd);
	probe_output_end(&job->output);
	end.aborted = job->aborting && (report.stopped || report.lost);
	if (end.aborted)
		probe_output_abort(&job->output);
	job->has_problem = probe_problem_judge(&end, &job->problem);
	job->state = JOB_DONE;
}

void job_serve(struct job *job, const struct pollfd *p)
{
	if (job->state != JOB_RUNNING)
		return;
	if (p[1].revents)
		(void)read_piece(job, &job->out_fd);
	if (p[2].revents)
		(void)read_piece(job, &job->err_fd);
	if (p[0].revents)
		finish(job);
	else if (clock_left_us(job_overdue_us(job)) == 0)
		supervisor_kill(&job->supervisor);
}

void job_abort(struct job *job)
{
	if (job->state != JOB_RUNNING)
		return;
	job->aborting = true;
	stop(job);
}

uint64_t job_overdue_us(const struct job *job)
{
	return job->kill_us + SUPERVISOR_KILL_US + SUPERVISOR_SLACK_US;
}

/* --- its result --------------------------------------------------------------- */

static void add_words(struct job *job, int code, const char *words)
{
	CLEANUP(freep) char *before = NULL;

	if (!job->has_problem) {
		job_refuse(job, code, words);
		return;
	}
	before = job->problem.detail;
	job->problem.detail = xasprintf("%s; also %s", before, words);
}

void job_deliver(struct job *job, size_t share, struct report *report)
{
	size_t total = job->output.n_samples, n = 0;

	while (n < MIN(total, share) && report_add_sample(report, &job->output.samples[n]) == 0)
		n++;
	if (n < total) {
		CLEANUP(freep)
		char *words = xasprintf("the report is full: %zu of its %zu samples are left out",
					total - n, total);

		add_words(job, PROBLEM_TOO_MUCH, words);
	}
	if (job->has_problem)
		report_add_problem(report, &job->problem);
	job->has_problem = false;
}
