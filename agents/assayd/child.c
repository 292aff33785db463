/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

enum { STATUS_NO_PROGRAM = 127 };

#define TIMER_ACCURACY_US (100 * USEC_PER_MSEC)

struct child {
	sd_event *event;
	sd_event_source *source; /* while it is running */
	sd_event_source *timer;	 /* for its deadline, then for the grace period */
	const char *name;
	void (*exited)(void *context, const siginfo_t *info);
	void *context;
	pid_t pid;
	bool told; /* to terminate */
};

struct child *child_new(struct sd_event *event, const char *name,
			void (*exited)(void *context, const siginfo_t *info), void *context)
{
	struct child *c = xcalloc(1, sizeof(*c));

	c->event = sd_event_ref(event);
	c->name = name;
	c->exited = exited;
	c->context = context;
	return c;
}

static void forget(struct child *c)
{
	c->source = sd_event_source_disable_unref(c->source);
	c->timer = sd_event_source_disable_unref(c->timer);
	c->told = false;
}

bool child_runs(const struct child *c)
{
	return c->source != NULL;
}

static int on_exit_of_child(sd_event_source *source UNUSED, const siginfo_t *info, void *context)
{
	struct child *c = context;

	forget(c);
	c->exited(c->context, info);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t now_us UNUSED, void *context)
{
	struct child *c = context;

	if (c->told) {
		(void)kill(c->pid, SIGKILL);
		return 0;
	}
	log_warning("stopping %s: its deadline has passed", c->name);
	c->told = true;
	(void)kill(c->pid, SIGTERM);
	(void)sd_event_source_set_time(source, clock_mono_us() + CHILD_GRACE_US);
	(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

/* In the child: only async-signal-safe calls. */
static void exec_program(const char *program, char *const *argv, int null, pid_t parent)
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
	(void)execv(program, argv);
	_exit(STATUS_NO_PROGRAM);
}

static int watch(struct child *c, uint64_t deadline_us)
{
	int r = sd_event_add_child(c->event, &c->source, c->pid, WEXITED, on_exit_of_child, c);

	if (r >= 0)
		r = sd_event_add_time(c->event, &c->timer, CLOCK_MONOTONIC, deadline_us,
				      TIMER_ACCURACY_US, on_timer, c);
	return r;
}

/* "assay" and the arguments, as execv() needs them: in the child's own memory. */
static int spawn(struct child *c, const char *program, const char *const *arguments, int null)
{
	const pid_t parent = getpid();
	char *argv[CHILD_ARGUMENTS_MAX + 2] = { xstrdup("assay") };
	size_t n;
	int r;

	for (n = 0; arguments[n]; n++)
		argv[n + 1] = xstrdup(arguments[n]);
	c->pid = fork();
	r = c->pid < 0 ? -errno : 0;
	if (c->pid == 0)
		exec_program(program, argv, null, parent);
	for (n = 0; argv[n]; n++)
		free(argv[n]);
	return r;
}

static bool too_many(const char *const *arguments)
{
	size_t n = 0;

	while (n <= CHILD_ARGUMENTS_MAX && arguments[n])
		n++;
	return n > CHILD_ARGUMENTS_MAX;
}

int child_start(struct child *c, const char *const *arguments, uint64_t deadline_us, struct err *err)
{
	CLEANUP(freep) char *dir = paths_programs();
	CLEANUP(freep) char *program = xasprintf("%s/assay", dir);
	CLEANUP(closep) int null = -1;
	int r;

	if (c->source)
		return err_set(err, EBUSY, "%s is under way", c->name);
	if (too_many(arguments))
		return err_set(err, E2BIG, "%s: more than %d arguments", c->name,
			       CHILD_ARGUMENTS_MAX);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return err_errno(err, errno, "cannot open /dev/null");
	r = spawn(c, program, arguments, null);
	if (r < 0)
		return err_errno(err, -r, "cannot start %s", program);
	r = watch(c, deadline_us);
	if (r < 0) {
		(void)kill(c->pid, SIGKILL);
		(void)waitpid(c->pid, NULL, 0);
		forget(c);
		return err_errno(err, -r, "cannot watch %s", program);
	}
	return 0;
}

void child_stop(struct child *c)
{
	if (!c->source || c->told)
		return;
	c->told = true;
	(void)kill(c->pid, SIGTERM);
	(void)sd_event_source_set_time(c->timer, clock_mono_us() + CHILD_GRACE_US);
	(void)sd_event_source_set_enabled(c->timer, SD_EVENT_ONESHOT);
}

void child_free(struct child *c)
{
	if (!c)
		return;
	child_stop(c);
	forget(c);
	(void)sd_event_unref(c->event);
	free(c);
}
