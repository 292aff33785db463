/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/pyspy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_stack.h"
#include "lib/sys/file.h"

#define PROGRAM "py-spy"
#define GRACE_US USEC_PER_SEC /* to exit after SIGKILL */

enum {
	PIECE = 16 * 1024,
	WORDS_MAX = 256, /* bytes of its error message */
	PID_SIZE = 24,
	ABOVE = 16, /* lowest descriptor of the child's own, out of the way of dup2() */
	STATUS_NO_PROGRAM = 127,
	DIRS_MAX = 64, /* of PATH */
};

struct pyspy {
	sd_event *event;
	char *path; /* configured or found; NULL: not searched yet */
	pyspy_done *done;
	void *context;
	/* State of the running child: */
	sd_event_source *child, *timer, *output;
	int out, words;
	pid_t pid, subject;
	struct strbuf text;
	const char *cut; /* why it was killed */
	bool left;	 /* abandoned: nobody waits for it */
	uint64_t wall_us;
};

struct pyspy *pyspy_new(struct sd_event *event, const char *path, pyspy_done *done, void *context)
{
	struct pyspy *p = xcalloc(1, sizeof(*p));

	p->event = sd_event_ref(event);
	p->path = xstrdup(path);
	p->done = done;
	p->context = context;
	p->out = p->words = -1;
	p->text.limit = HANG_STACK_MAX;
	p->wall_us = PYSPY_WALL_US;
	return p;
}

void pyspy_use(struct pyspy *p, const char *path)
{
	free(p->path);
	p->path = xstrdup(path);
}

void pyspy_hurry(struct pyspy *p, uint64_t wall_us)
{
	p->wall_us = wall_us;
}

bool pyspy_looks(const struct pyspy *p)
{
	return p->child && !p->left;
}

static void close_output(struct pyspy *p)
{
	p->output = sd_event_source_disable_unref(p->output);
	closep(&p->out);
	closep(&p->words);
	p->out = p->words = -1;
}

static void forget(struct pyspy *p)
{
	p->child = sd_event_source_disable_unref(p->child);
	p->timer = sd_event_source_disable_unref(p->timer);
	close_output(p);
	p->cut = NULL;
	p->left = false;
}

void pyspy_free(struct pyspy *p)
{
	if (!p)
		return;
	/* A child in D would block us: leave it to whoever reaps orphans. */
	if (p->child) {
		(void)kill(p->pid, SIGKILL);
		(void)waitpid(p->pid, NULL, WNOHANG);
	}
	forget(p);
	strbuf_release(&p->text);
	(void)sd_event_unref(p->event);
	free(p->path);
	free(p);
}

/* --- the program --- */

/*
 * Owned by us or root and writable by nobody else; the sticky bit of directories like /tmp
 * suffices.
 */
static bool is_own(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || (st.st_uid != 0 && st.st_uid != geteuid()))
		return false;
	return !(st.st_mode & (S_IWGRP | S_IWOTH)) ||
	       (S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX));
}

static int check_program(const char *given, char **ret, struct err *err)
{
	CLEANUP(freep) char *path = realpath(given, NULL);
	char *slash;

	if (!path)
		return err_errno(err, errno, "%s", given);
	if (access(path, X_OK) < 0)
		return err_errno(err, errno, "%s", path);
	*ret = xstrdup(path);
	while (is_own(*path ? path : "/")) {
		slash = strrchr(path, '/');
		if (!slash)
			return 0;
		*slash = '\0';
	}
	(void)err_set(err, EPERM, "%s is not run as root: %s is owned or writable by other users",
		      *ret, *path ? path : "/");
	free(TAKE(*ret));
	return -EPERM;
}

/* The first match in PATH; the caller frees it; NULL: none. */
static char *find_program(void)
{
	const char *at = secure_getenv("PATH");
	size_t i;

	for (i = 0; at && i < DIRS_MAX; i++) {
		const size_t n = strcspn(at, ":");
		CLEANUP(freep) char *path = xasprintf("%.*s/" PROGRAM, (int)n, at);

		if (path[0] == '/' && n > 0 && access(path, X_OK) == 0)
			return TAKE(path);
		at = at[n] ? at + n + 1 : NULL;
	}
	return NULL;
}

static int choose_program(struct pyspy *p, char **ret, struct err *err)
{
	if (!p->path)
		p->path = find_program();
	if (!p->path)
		return err_set(err, ENOENT, PROGRAM " is not installed: not found in PATH");
	return check_program(p->path, ret, err);
}

/* --- its end --- */

static void cut(struct pyspy *p, const char *why)
{
	if (p->cut)
		return;
	p->cut = why;
	(void)kill(p->pid, SIGKILL);
	(void)sd_event_source_set_time(p->timer, clock_mono_us() + GRACE_US);
	(void)sd_event_source_set_enabled(p->timer, SD_EVENT_ONESHOT);
}

/* Abandon it. `done` is called last: it may start another, or free `p`. */
static void leave(struct pyspy *p)
{
	struct err why = ERR_INIT;

	(void)err_set(&why, ETIMEDOUT, PROGRAM ": %s", p->cut);
	close_output(p);
	p->left = true;
	p->done(p->context, p->subject, NULL, why.msg);
}

static void take_output(struct pyspy *p)
{
	char piece[PIECE];
	ssize_t n;

	while ((n = read(p->out, piece, sizeof(piece))) > 0) {
		if (strbuf_add(&p->text, piece, (size_t)n) < 0) {
			p->output = sd_event_source_disable_unref(p->output);
			cut(p, "it printed more than 1 MiB");
			return;
		}
	}
	if (n == 0)
		p->output = sd_event_source_disable_unref(p->output);
}

static int on_output(sd_event_source *source UNUSED, int fd UNUSED, uint32_t events UNUSED,
		     void *context)
{
	take_output(context);
	return 0;
}

/* Its error message, or how it ended. */
static int complain(const struct pyspy *p, const siginfo_t *info, struct err *why)
{
	char words[WORDS_MAX];
	const ssize_t n = read(p->words, words, sizeof(words) - 1);

	words[n > 0 ? n : 0] = '\0';
	words[strcspn(words, "\n")] = '\0';
	if (p->cut)
		return err_set(why, ETIMEDOUT, PROGRAM ": %s", p->cut);
	if (words[0])
		return err_set(why, EIO, PROGRAM ": %s", words);
	if (info->si_code != CLD_EXITED)
		return err_set(why, EIO, PROGRAM " was killed by signal %d", info->si_status);
	return err_set(why, EIO, PROGRAM " ended with status %d", info->si_status);
}

static int on_exit_of_child(sd_event_source *source UNUSED, const siginfo_t *info, void *context)
{
	struct pyspy *p = context;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(HANG_STACK_MAX);
	struct hang_stack stack;
	struct err why = ERR_INIT;
	int r;

	if (p->left) {
		forget(p);
		return 0;
	}
	if (p->output)
		take_output(p);
	if (p->cut || info->si_code != CLD_EXITED || info->si_status != 0)
		r = complain(p, info, &why);
	else
		r = hang_stack_read(strbuf_text(&p->text), p->text.len, &stack, &why);
	text = p->text;
	p->text = (struct strbuf)STRBUF_INIT(HANG_STACK_MAX);
	forget(p);
	p->done(p->context, p->subject, r < 0 ? NULL : &stack, r < 0 ? why.msg : NULL);
	return 0;
}

static int on_timer(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	struct pyspy *p = context;

	if (p->cut)
		leave(p);
	else
		cut(p, "it took too long");
	return 0;
}

/* --- its start --- */

/* In the child: only async-signal-safe calls. */
static void exec_program(const char *program, char *const *argv, const int fds[3], pid_t parent)
{
	char locale[] = "LC_ALL=C.UTF-8";
	char *const environment[] = { locale, NULL };
	sigset_t none;

	(void)sigemptyset(&none);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(STATUS_NO_PROGRAM);
	(void)dup2(fds[0], STDIN_FILENO);
	(void)dup2(fds[1], STDOUT_FILENO);
	(void)dup2(fds[2], STDERR_FILENO);
	(void)execve(program, argv, environment);
	_exit(STATUS_NO_PROGRAM);
}

static int spawn(struct pyspy *p, const char *program, const int fds[3])
{
	char name[] = PROGRAM, dump[] = "dump", nonblocking[] = "--nonblocking", json[] = "--json",
	     flag[] = "--pid", pid[PID_SIZE];
	char *argv[] = { name, dump, nonblocking, json, flag, pid, NULL };
	const pid_t parent = getpid();

	(void)snprintf(pid, sizeof(pid), "%lld", (long long)p->subject);
	p->pid = fork();
	if (p->pid == 0)
		exec_program(program, argv, fds, parent);
	return p->pid < 0 ? -errno : 0;
}

static int make_pipe(int *ret_ours, int *ret_theirs)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*ret_ours = ends[0];
	*ret_theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, ABOVE);
	(void)close(ends[1]);
	return *ret_theirs < 0 ? -errno : 0;
}

static int watch(struct pyspy *p)
{
	int r = sd_event_add_child(p->event, &p->child, p->pid, WEXITED, on_exit_of_child, p);

	if (r >= 0)
		r = sd_event_add_time(p->event, &p->timer, CLOCK_MONOTONIC,
				      clock_mono_us() + p->wall_us, 0, on_timer, p);
	if (r >= 0)
		r = sd_event_add_io(p->event, &p->output, p->out, EPOLLIN, on_output, p);
	return MIN(r, 0);
}

static int start(struct pyspy *p, const char *program)
{
	CLEANUP(closep) int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CLEANUP(closep) int in = null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, ABOVE);
	CLEANUP(closep) int out = -1;
	CLEANUP(closep) int err = -1;
	int r = in < 0 ? -errno : make_pipe(&p->out, &out);

	if (r == 0)
		r = make_pipe(&p->words, &err);
	if (r == 0)
		r = spawn(p, program, (const int[]){ in, out, err });
	if (r < 0)
		return r;
	r = watch(p);
	if (r < 0) {
		(void)kill(p->pid, SIGKILL);
		(void)waitpid(p->pid, NULL, 0);
	}
	return r;
}

int pyspy_look(struct pyspy *p, pid_t pid, struct err *err)
{
	CLEANUP(freep) char *program = NULL;
	int r;

	if (p->child)
		return err_set(err, EBUSY, PROGRAM " is busy with process %lld",
			       (long long)p->subject);
	r = choose_program(p, &program, err);
	if (r < 0)
		return r;
	p->subject = pid;
	strbuf_release(&p->text);
	r = start(p, program);
	if (r < 0) {
		forget(p);
		return err_errno(err, -r, "cannot start %s", program);
	}
	return 0;
}
