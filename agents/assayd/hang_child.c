/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/hang_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

#define NO_ANSWER "a file system or a driver did not answer"

enum { PIECE = 16 * 1024, NICE = 19, STATUS_NO_PROGRAM = 127 };

struct hang_child {
	sd_event *event;
	hang_child_done *done; /* NULL if nobody waits for the child */
	hang_child_done *wanted;
	void *context;
	sd_event_source *child, *timer, *output;
	pid_t pid;
	int out; /* -1: closed */
	struct strbuf text;
};

static void close_output(struct hang_child *c)
{
	c->output = sd_event_source_disable_unref(c->output);
	closep(&c->out);
	c->out = -1;
}

static void forget(struct hang_child *c)
{
	c->child = sd_event_source_disable_unref(c->child);
	c->timer = sd_event_source_disable_unref(c->timer);
	close_output(c);
	strbuf_release(&c->text);
	c->text = (struct strbuf)STRBUF_INIT(HANG_CHILD_OUTPUT_MAX);
}

/* Called once per child started. */
static void tell(struct hang_child *c, const char *text, size_t size, const char *why)
{
	hang_child_done *done = c->done;

	c->done = NULL;
	if (done)
		done(c->context, text, size, why);
}

static void give_up(struct hang_child *c, const char *why)
{
	(void)kill(c->pid, SIGKILL);
	close_output(c);
	tell(c, NULL, 0, why);
}

static void take_output(struct hang_child *c)
{
	char piece[PIECE];
	ssize_t n = -1;

	while (c->out >= 0 && (n = read(c->out, piece, sizeof(piece))) > 0) {
		if (strbuf_add(&c->text, piece, (size_t)n) < 0) {
			give_up(c, "it printed too much");
			return;
		}
	}
	if (n == 0)
		close_output(c);
}

static int on_output(sd_event_source *source UNUSED, int fd UNUSED, uint32_t events UNUSED,
		     void *context)
{
	take_output(context);
	return 0;
}

static int on_timer(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	give_up(context, NO_ANSWER " it in 20 s");
	return 0;
}

static int on_exit_of_child(sd_event_source *source UNUSED, const siginfo_t *info, void *context)
{
	struct hang_child *c = context;
	const bool good = info->si_code == CLD_EXITED && info->si_status == 0;
	struct strbuf text;

	if (c->out >= 0)
		take_output(c);
	/* The callback may start the next one. */
	text = c->text;
	c->text = (struct strbuf)STRBUF_INIT(HANG_CHILD_OUTPUT_MAX);
	forget(c);
	if (good)
		tell(c, strbuf_text(&text), text.len, "");
	else
		tell(c, NULL, 0, "it failed");
	strbuf_release(&text);
	return 0;
}

/* In the child: only async-signal-safe calls. */
static _Noreturn void become(const char *program, char *const *argv, int out, pid_t parent)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && dup2(out, STDOUT_FILENO) >= 0)
		(void)execv(program, argv);
	_exit(STATUS_NO_PROGRAM);
}

static int spawn(struct hang_child *c, const char *const *arguments, int out)
{
	CLEANUP(freep) char *dir = paths_probes();
	CLEANUP(freep) char *program = xasprintf("%s/assay-hang-look", dir);
	char *argv[HANG_CHILD_ARGUMENTS_MAX + 2] = { program };
	const pid_t parent = getpid();
	size_t n;
	int r;

	for (n = 0; arguments[n] && n < HANG_CHILD_ARGUMENTS_MAX; n++)
		argv[n + 1] = xstrdup(arguments[n]);
	c->pid = fork();
	r = c->pid < 0 ? -errno : 0;
	if (c->pid == 0)
		become(program, argv, out, parent);
	while (n > 0)
		free(argv[n--]);
	return r;
}

static int watch(struct hang_child *c)
{
	int r = sd_event_add_child(c->event, &c->child, c->pid, WEXITED, on_exit_of_child, c);

	if (r >= 0)
		r = sd_event_add_time(c->event, &c->timer, CLOCK_MONOTONIC,
				      clock_mono_us() + HANG_CHILD_WALL_US, 0, on_timer, c);
	if (r >= 0)
		r = sd_event_add_io(c->event, &c->output, c->out, EPOLLIN, on_output, c);
	return r;
}

int hang_child_start(struct hang_child *c, const char *const *arguments, struct err *err)
{
	CLEANUP(closep) int theirs = -1;
	int ends[2], r;

	if (c->child)
		return err_set(err, EBUSY, "%s",
			       c->done ? "the previous look has not ended"
				       : NO_ANSWER " the previous look, which cannot be ended");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, errno, "cannot make a pipe");
	c->out = ends[0];
	theirs = ends[1];
	(void)fcntl(c->out, F_SETFL, O_NONBLOCK);
	r = spawn(c, arguments, theirs);
	if (r == 0)
		r = watch(c);
	if (r >= 0) {
		c->done = c->wanted;
		return 0;
	}
	if (c->pid > 0) {
		(void)kill(c->pid, SIGKILL);
		(void)waitpid(c->pid, NULL, 0);
	}
	forget(c);
	return err_errno(err, -r, "cannot start assay-hang-look");
}

bool hang_child_runs(const struct hang_child *c)
{
	return c->done != NULL;
}

struct hang_child *hang_child_new(struct sd_event *event, hang_child_done *done, void *context)
{
	struct hang_child *c = xcalloc(1, sizeof(*c));

	c->event = sd_event_ref(event);
	c->wanted = done;
	c->context = context;
	c->out = -1;
	c->text = (struct strbuf)STRBUF_INIT(HANG_CHILD_OUTPUT_MAX);
	return c;
}

void hang_child_free(struct hang_child *c)
{
	if (!c)
		return;
	/* A child in D would block us: leave it to whoever reaps orphans. */
	if (c->child) {
		(void)kill(c->pid, SIGKILL);
		(void)waitpid(c->pid, NULL, WNOHANG);
	}
	forget(c);
	strbuf_release(&c->text);
	(void)sd_event_unref(c->event);
	free(c);
}
