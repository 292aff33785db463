/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/runner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "agents/run/job.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/lock.h"

/*
 * Passive probes read counters and use few resources; still, an active probe that starts at the
 * same time would measure them. It waits this long for them.
 */
#define HEAD_START_US (2 * USEC_PER_SEC)

/* We are not notified when the lock is released: poll. */
#define LOCK_LOOK_US (50 * USEC_PER_MSEC)

/* Interval of updates to a live display. */
#define PROGRESS_US (200 * USEC_PER_MSEC)

enum lock_state { LOCK_NOT_YET, LOCK_OURS, LOCK_REFUSED };

struct runner {
	const struct runner_options *options;
	struct job *jobs;
	size_t n;
	uint64_t start_us;
	enum lock_state lock;
	int lock_fd; /* -1 also if our caller holds it for us */
	bool stopped;
};

/* --- jobs ---------------------------------------------------------------------- */

static bool is(const struct job *job, bool active, enum job_state state)
{
	return job->probe->active == active && job->state == state;
}

/* The last job in a given state: the newest, since they start in order. */
static struct job *find_last(const struct runner *runner, bool active, enum job_state state)
{
	size_t i;

	for (i = runner->n; i-- > 0;)
		if (is(&runner->jobs[i], active, state))
			return &runner->jobs[i];
	return NULL;
}

static struct job *find_first(const struct runner *runner, bool active, enum job_state state)
{
	size_t i;

	for (i = 0; i < runner->n; i++)
		if (is(&runner->jobs[i], active, state))
			return &runner->jobs[i];
	return NULL;
}

static size_t count_done(const struct runner *runner)
{
	size_t n = 0, i;

	for (i = 0; i < runner->n; i++)
		n += runner->jobs[i].state == JOB_DONE;
	return n;
}

static void start(struct runner *runner, struct job *job)
{
	const struct job_how how = {
		.deadline_us = runner->options->deadline_us,
		.run_busy = runner->options->run_busy,
		.lock_fd = runner->lock_fd,
	};

	job_start(job, &how);
}

/* --- active probes --------------------------------------------------------------- */

static void refuse_waiting(struct runner *runner, int code, const char *why)
{
	struct job *job;

	while ((job = find_first(runner, true, JOB_WAITING)))
		job_refuse(job, code, why);
}

static int take_lock(struct runner *runner, struct err *err)
{
	const char *dir = runner->options->run_dir;
	CLEANUP(freep) char *path = xasprintf("%s/active.lock", dir);
	int r = file_mkdirs(dir, err);

	return r < 0 ? r : lock_take(path, 0, &runner->lock_fd, err);
}

/* Whoever starts active probes takes the lock; if our caller holds it, it is ours. */
static void try_lock(struct runner *runner)
{
	uint64_t until_us = runner->start_us + runner->options->lock_wait_us;
	struct err err = ERR_INIT;
	int r;

	if (runner->lock != LOCK_NOT_YET)
		return;
	r = lock_held_for_us() ? 0 : take_lock(runner, &err);
	if (r == -ETIMEDOUT && clock_left_us(MIN(until_us, runner->options->deadline_us)) > 0)
		return;
	runner->lock = r == 0 ? LOCK_OURS : LOCK_REFUSED;
	if (r < 0)
		refuse_waiting(runner, r == -ETIMEDOUT ? PROBLEM_BUSY : PROBLEM_SET_UP, err.msg);
}

static bool in_head_start(const struct runner *runner)
{
	return find_first(runner, false, JOB_RUNNING) &&
	       clock_left_us(runner->start_us + HEAD_START_US) > 0;
}

/* A job arrived: the devices belong to it now. */
static void give_way(struct runner *runner)
{
	struct job *job = find_first(runner, true, JOB_RUNNING);

	runner->stopped = true;
	if (job)
		job_abort(job);
	refuse_waiting(runner, PROBLEM_BUSY, "not started: a job arrived");
}

static bool must_stop(const struct runner *runner)
{
	return !runner->options->stop || runner->options->stop(runner->options->stop_context);
}

/* Handle events, including the loss of whoever watches for jobs, which is no reason to continue. */
static void look_for_job(struct runner *runner)
{
	struct pollfd p = { .fd = runner->options->stop_fd, .events = POLLIN };

	if (!runner->stopped && poll(&p, 1, 0) > 0 && must_stop(runner))
		give_way(runner);
}

static void start_active(struct runner *runner)
{
	struct job *job;

	if (find_first(runner, true, JOB_RUNNING))
		return;
	look_for_job(runner);
	if (!find_first(runner, true, JOB_WAITING)) { /* nothing needs the lock any more */
		closep(&runner->lock_fd);
		runner->lock_fd = -1;
		return;
	}
	try_lock(runner);
	if (runner->lock != LOCK_OURS || in_head_start(runner))
		return;
	while (!find_first(runner, true, JOB_RUNNING) &&
	       (job = find_first(runner, true, JOB_WAITING)))
		start(runner, job);
}

/* --- the loop ---------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a_us, uint64_t b_us)
{
	return a_us < b_us ? a_us : b_us;
}

/* When the next active probe may start without further events. */
static uint64_t next_start_us(const struct runner *runner, uint64_t now_us)
{
	if (!find_first(runner, true, JOB_WAITING))
		return UINT64_MAX;
	if (runner->lock == LOCK_NOT_YET)
		return now_us + LOCK_LOOK_US;
	return in_head_start(runner) ? runner->start_us + HEAD_START_US : UINT64_MAX;
}

/* When to check again without further events. */
static uint64_t next_look_us(const struct runner *runner)
{
	uint64_t now_us = clock_mono_us(), next_us = next_start_us(runner, now_us);
	size_t i;

	for (i = 0; i < runner->n; i++)
		if (runner->jobs[i].state == JOB_RUNNING)
			next_us = earlier(next_us, job_overdue_us(&runner->jobs[i]));
	return runner->options->progress ? earlier(next_us, now_us + PROGRESS_US) : next_us;
}

/* A killed supervisor ends at once; do not spin on its deadline until we see that. */
static int wait_ms(const struct runner *runner)
{
	return MAX(clock_left_ms(next_look_us(runner)), 1);
}

static void wait_events(struct runner *runner)
{
	struct pollfd p[1 + JOB_FDS * RUNNER_PROBES_MAX];
	size_t i;

	p[0] = (struct pollfd){
		.fd = runner->stopped ? -1 : runner->options->stop_fd,
		.events = POLLIN,
	};
	for (i = 0; i < runner->n; i++)
		job_poll(&runner->jobs[i], &p[1 + JOB_FDS * i]);
	if (poll(p, 1 + JOB_FDS * runner->n, wait_ms(runner)) < 0)
		return; /* interrupted by a signal */
	if (p[0].revents && must_stop(runner))
		give_way(runner);
	for (i = 0; i < runner->n; i++)
		job_serve(&runner->jobs[i], &p[1 + JOB_FDS * i]);
}

static void tell(const struct runner *runner)
{
	struct runner_progress p = {
		.done = count_done(runner),
		.total = runner->n,
		.run_left_us = clock_left_us(runner->options->deadline_us),
	};
	const struct job *job = find_last(runner, true, JOB_RUNNING);

	if (!runner->options->progress)
		return;
	if (!job)
		job = find_last(runner, false, JOB_RUNNING);
	if (job) {
		p.probe = job->probe->name;
		p.probe_left_us = clock_left_us(job->kill_us);
	}
	runner->options->progress(runner->options->progress_context, &p);
}

static void run(struct runner *runner)
{
	struct job *job;

	while ((job = find_first(runner, false, JOB_WAITING)))
		start(runner, job);
	start_active(runner);
	while (count_done(runner) < runner->n) {
		tell(runner);
		wait_events(runner);
		start_active(runner);
	}
	tell(runner);
}

/* --- the report ---------------------------------------------------------------------- */

/*
 * The most samples that a probe may add so that those of all fit: a probe with too many does not
 * displace those with few.
 */
static size_t fair_share(const struct runner *runner, size_t room)
{
	size_t share = room, sum, i;

	for (;; share--) {
		for (sum = 0, i = 0; i < runner->n; i++)
			sum += MIN(runner->jobs[i].output.n_samples, share);
		if (sum <= room)
			return share;
	}
}

static void deliver(struct runner *runner, struct report *report)
{
	size_t share = fair_share(runner, SAMPLE_COUNT_MAX - report->n_samples), i;

	for (i = 0; i < runner->n; i++) {
		job_deliver(&runner->jobs[i], share, report);
		job_release(&runner->jobs[i]);
	}
}

int runner_run(const struct runner_probe *probes, size_t n, const struct runner_options *options,
	       struct report *report, struct err *err)
{
	/* Supervisors are reaped by PID, whatever our caller does with its own children. */
	const struct sigaction keep_zombies = { .sa_handler = SIG_DFL };
	struct runner runner = { .options = options, .n = n, .lock_fd = -1 };
	struct sigaction before;
	size_t i;

	if (n > RUNNER_PROBES_MAX)
		return err_set(err, E2BIG, "%zu probes, more than %d", n, RUNNER_PROBES_MAX);
	runner.start_us = clock_mono_us();
	runner.jobs = xcalloc(MAX(n, (size_t)1), sizeof(*runner.jobs));
	for (i = 0; i < n; i++)
		job_init(&runner.jobs[i], &probes[i]);
	if (sigaction(SIGCHLD, &keep_zombies, &before) < 0)
		return err_errno(err, errno, "cannot watch processes");
	run(&runner);
	(void)sigaction(SIGCHLD, &before, NULL);
	closep(&runner.lock_fd);
	deliver(&runner, report);
	free(runner.jobs);
	return 0;
}
