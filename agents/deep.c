/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/deep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "lib/clock.h"
#include "lib/err.h"
#include "lib/log.h"
#include "lib/paths.h"
#include "lib/xalloc.h"

enum { STATUS_NO_PROGRAM = 127 };

#define TIMER_ACCURACY_US (100 * USEC_PER_MSEC)

struct deep {
	sd_event *event;
	sd_event_source *child; /* while a run is under way */
	sd_event_source *timer; /* of its deadline, then of the grace after it */
	pid_t pid;
	bool told; /* to end */
};

struct deep *deep_new(struct sd_event *event)
{
	struct deep *deep = xcalloc(1, sizeof(*deep));

	deep->event = sd_event_ref(event);
	return deep;
}

static void forget(struct deep *d)
{
	d->child = sd_event_source_disable_unref(d->child);
	d->timer = sd_event_source_disable_unref(d->timer);
	d->told = false;
}

static int on_exit_of_run(sd_event_source *source UNUSED, const siginfo_t *info, void *context)
{
	struct deep *d = context;

	/* 1 and 3 are verdicts. */
	if (info->si_code == CLD_EXITED && info->si_status <= 3 && info->si_status != 2)
		log_info("deep run done: exit status %d", info->si_status);
	else if (info->si_code == CLD_EXITED)
		log_warning("deep run could not run: exit status %d", info->si_status);
	else
		log_warning("deep run ended by signal %d", info->si_status);
	forget(d);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t now_us UNUSED, void *context)
{
	struct deep *d = context;

	if (d->told) {
		(void)kill(d->pid, SIGKILL);
		return 0;
	}
	log_warning("deep run is told to end: its deadline has come");
	d->told = true;
	(void)kill(d->pid, SIGTERM);
	(void)sd_event_source_set_time(source, clock_mono_us() + DEEP_GRACE_US);
	(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

/* In the child: nothing but calls that a signal handler may make. */
static void exec_run(const char *program, int null, pid_t parent)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(STATUS_NO_PROGRAM);
	(void)dup2(null, STDIN_FILENO);
	(void)dup2(null, STDOUT_FILENO);
	(void)execl(program, "assay", "run", "--profile", "full", "--report", (char *)NULL);
	_exit(STATUS_NO_PROGRAM);
}

static int watch(struct deep *d, uint64_t deadline_us)
{
	int r = sd_event_add_child(d->event, &d->child, d->pid, WEXITED, on_exit_of_run, d);

	if (r >= 0)
		r = sd_event_add_time(d->event, &d->timer, CLOCK_MONOTONIC, deadline_us,
				      TIMER_ACCURACY_US, on_timer, d);
	return r;
}

int deep_start(struct deep *d, uint64_t deadline_us, struct err *err)
{
	CLEANUP(freep) char *dir = paths_programs();
	CLEANUP(freep) char *program = xasprintf("%s/assay", dir);
	const pid_t parent = getpid();
	int null, r;

	if (d->child)
		return err_set(err, EBUSY, "a deep run is under way");
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return err_errno(err, errno, "cannot open /dev/null");
	d->pid = fork();
	if (d->pid == 0)
		exec_run(program, null, parent);
	r = d->pid < 0 ? -errno : 0;
	(void)close(null);
	if (r < 0)
		return err_errno(err, -r, "cannot start %s", program);
	r = watch(d, deadline_us);
	if (r < 0) {
		(void)kill(d->pid, SIGKILL);
		(void)waitpid(d->pid, NULL, 0);
		forget(d);
		return err_errno(err, -r, "cannot watch %s", program);
	}
	log_info("deep run started: pid=%d", (int)d->pid);
	return 0;
}

void deep_stop(struct deep *d)
{
	if (!d->child || d->told)
		return;
	d->told = true;
	(void)kill(d->pid, SIGTERM);
	(void)sd_event_source_set_time(d->timer, clock_mono_us() + DEEP_GRACE_US);
	(void)sd_event_source_set_enabled(d->timer, SD_EVENT_ONESHOT);
}

void deep_free(struct deep *d)
{
	if (!d)
		return;
	deep_stop(d);
	forget(d);
	(void)sd_event_unref(d->event);
	free(d);
}
