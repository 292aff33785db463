/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/supervisor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/sys/file.h"

enum {
	EXIT_NOT_STARTED = 127,
	FIRST_FREE_FD = 3,
	KEEP_MAX = 4,
};

/* State of the supervisor. */
struct watch {
	struct process_tree tree;
	int runner_fd; /* socket to the runner */
	int signal_fd; /* SIGCHLD, SIGTERM */
	int exec_fd;   /* read end: errno of an exec that failed */
};

/* --- descriptors and signals ------------------------------------------------ */

static bool is_kept(const int *keep, size_t n, int fd)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (keep[i] == fd)
			return true;
	return false;
}

/*
 * Close every descriptor from 3 on except those in `keep`: what our callers and their libraries
 * opened without O_CLOEXEC must not leak to the probe.
 */
static void close_others(const int *keep, size_t n)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (fd >= FIRST_FREE_FD && fd != dirfd(dir) && !is_kept(keep, n, fd))
			(void)close(fd);
	}
	if (dir)
		(void)closedir(dir);
}

/* Move `*fd` out of the way of dup2() to 0, 1 and 2. */
static void move_up(int *fd)
{
	if (*fd >= 0 && *fd < FIRST_FREE_FD)
		*fd = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
}

static void default_signals(void)
{
	const struct sigaction action = { .sa_handler = SIG_DFL };
	int i;

	for (i = 1; i < NSIG; i++)
		(void)sigaction(i, &action, NULL);
}

/* --- the probe, before it is itself ----------------------------------------- */

static _Noreturn void become_probe(const struct supervisor_spec *spec, int exec_fd)
{
	int fds[] = { spec->out_fd, spec->err_fd, exec_fd };
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;
	int why;
	size_t i;

	move_up(&null_fd);
	for (i = 0; i < ARRAY_SIZE(fds); i++)
		move_up(&fds[i]);
	(void)setsid();
	default_signals();
	if (dup2(null_fd, STDIN_FILENO) >= 0 && dup2(fds[0], STDOUT_FILENO) >= 0 &&
	    dup2(fds[1], STDERR_FILENO) >= 0) {
		close_others(&fds[2], 1);
		(void)sigemptyset(&none);
		(void)sigprocmask(SIG_SETMASK, &none, NULL);
		(void)execve(spec->path, spec->argv, spec->envp);
	}
	why = errno;
	(void)!write(fds[2], &why, sizeof(why));
	_exit(EXIT_NOT_STARTED);
}

/* Make the probe die with its supervisor, and exit if that is already dead. */
static void follow_parent(pid_t parent, int with_signal)
{
	(void)prctl(PR_SET_PDEATHSIG, with_signal);
	if (getppid() != parent)
		_exit(EXIT_NOT_STARTED);
}

static int start_probe(const struct supervisor_spec *spec, struct watch *watch)
{
	pid_t self = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return errno;
	watch->tree.main = fork();
	if (watch->tree.main < 0)
		return errno;
	if (watch->tree.main == 0) {
		follow_parent(self, SIGKILL);
		become_probe(spec, ends[1]);
	}
	watch->exec_fd = ends[0];
	(void)close(ends[1]);
	return 0;
}

/* --- the supervisor --------------------------------------------------------------- */

/* Does the runner want us to stop, or is it gone? */
static bool has_to_stop(const struct watch *watch, const struct pollfd p[static 2])
{
	struct signalfd_siginfo info;
	bool stop = p[0].revents != 0;

	while (p[1].revents && read(watch->signal_fd, &info, sizeof(info)) == sizeof(info))
		stop = stop || info.ssi_signo == SIGTERM;
	return stop;
}

/* Wait until the probe ends, its deadline, or a request of the runner. */
static void wait_probe(const struct supervisor_spec *spec, struct watch *watch,
		       struct supervisor_report *report)
{
	while (!report->stopped && !report->timed_out) {
		struct pollfd p[] = {
			{ .fd = watch->runner_fd, .events = POLLIN | POLLRDHUP },
			{ .fd = watch->signal_fd, .events = POLLIN },
		};
		bool stop = false;

		if (poll(p, ARRAY_SIZE(p), clock_left_ms(spec->deadline_us)) > 0)
			stop = has_to_stop(watch, p);
		(void)process_tree_reap(&watch->tree);
		if (watch->tree.main_gone)
			return;
		report->stopped = stop;
		report->timed_out = !stop && clock_left_us(spec->deadline_us) == 0;
	}
}

static uint64_t timeval_us(struct timeval t)
{
	return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_usec;
}

static void watch_probe(const struct supervisor_spec *spec, struct watch *watch,
			struct supervisor_report *report)
{
	struct rusage usage;
	int why;

	report->start_errno = start_probe(spec, watch);
	if (report->start_errno)
		return;
	close_others((const int[KEEP_MAX]){ watch->runner_fd, watch->signal_fd, watch->exec_fd,
					    spec->keep_fd },
		     KEEP_MAX);
	wait_probe(spec, watch, report);
	if (process_tree_end(&watch->tree, watch->signal_fd, clock_mono_us() + SUPERVISOR_KILL_US) <
	    0) {
		report->left = watch->tree.left;
		report->left_state = watch->tree.left_state;
		memcpy(report->left_name, watch->tree.left_name, sizeof(report->left_name));
	}
	if (read(watch->exec_fd, &why, sizeof(why)) == sizeof(why))
		report->start_errno = why;
	report->status = watch->tree.status;
	(void)getrusage(RUSAGE_CHILDREN, &usage);
	report->cpu_us = timeval_us(usage.ru_utime) + timeval_us(usage.ru_stime);
	report->peak_kib = (uint64_t)usage.ru_maxrss;
}

/* All signals have been blocked since before the fork. */
static _Noreturn void be_supervisor(const struct supervisor_spec *spec, pid_t runner, int runner_fd)
{
	struct watch watch = { .runner_fd = runner_fd, .exec_fd = -1 };
	struct supervisor_report report = { 0 };
	struct supervisor_spec own = *spec;
	sigset_t signals;
	int i, null_fd;

	default_signals(); /* with SIGCHLD ignored the wait status would be lost */
	follow_parent(runner, SIGTERM);
	(void)setsid();
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	move_up(&watch.runner_fd);
	move_up(&own.out_fd);
	move_up(&own.err_fd);
	move_up(&own.keep_fd);
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (i = 0; i < FIRST_FREE_FD; i++) /* readers of our output must not wait for us */
		(void)dup2(null_fd, i);
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGCHLD);
	(void)sigaddset(&signals, SIGTERM);
	watch.signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (watch.signal_fd < 0)
		report.start_errno = errno;
	else
		watch_probe(&own, &watch, &report);
	(void)send(watch.runner_fd, &report, sizeof(report), MSG_NOSIGNAL);
	_exit(0);
}

/* --- the runner's side ---------------------------------------------------------- */

int supervisor_start(const struct supervisor_spec *spec, struct supervisor *ret, struct err *err)
{
	pid_t self = getpid(), pid;
	sigset_t all, old;
	int ends[2], why;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(err, errno, "cannot make a socket");
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &old);
	pid = fork();
	why = errno;
	if (pid == 0) {
		(void)close(ends[0]);
		be_supervisor(spec, self, ends[1]);
	}
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	(void)close(ends[1]);
	if (pid < 0) {
		(void)close(ends[0]);
		return err_errno(err, why, "cannot fork");
	}
	*ret = (struct supervisor){ .pid = pid, .fd = ends[0] };
	return 0;
}

void supervisor_stop(const struct supervisor *supervisor)
{
	if (supervisor->pid)
		(void)shutdown(supervisor->fd, SHUT_WR);
}

void supervisor_kill(const struct supervisor *supervisor)
{
	if (supervisor->pid)
		(void)kill(supervisor->pid, SIGKILL);
}

void supervisor_finish(struct supervisor *supervisor, struct supervisor_report *ret)
{
	struct supervisor_report report;

	if (recv(supervisor->fd, &report, sizeof(report), MSG_DONTWAIT) != sizeof(report))
		report = (struct supervisor_report){ .lost = true };
	supervisor_kill(supervisor); /* it has nothing left to do */
	while (waitpid(supervisor->pid, NULL, 0) < 0 && errno == EINTR)
		;
	(void)close(supervisor->fd);
	*supervisor = (struct supervisor){ .fd = -1 };
	*ret = report;
}
