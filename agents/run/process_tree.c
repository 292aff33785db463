/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/process_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/sys/file.h"

enum {
	/*
	 * How many PIDs one scan of /proc remembers, to find the children of a process that
	 * cannot die. Children of the others become ours when their parent is dead, and the next
	 * scan finds them.
	 */
	SWEEP_PIDS_MAX = 4096,
	/* We get no signal when a grandchild dies: scan again. */
	LOOK_AGAIN_MS = 20,
	STAT_MAX = 512,
};

struct sweep {
	pid_t self, self_group;
	pid_t last_group; /* last one killed; most processes share one */
	size_t n;
	pid_t pids[SWEEP_PIDS_MAX];
};

struct process {
	pid_t pid, parent, group;
	char state;
	char name[PROCESS_TREE_NAME_SIZE];
};

bool process_tree_reap(struct process_tree *d)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		if (pid != d->main)
			continue;
		d->main_gone = true;
		d->status = status;
	}
	return pid == 0;
}

/*
 * "pid (name) state parent group ...": proc(5). The name may contain anything, so search for the
 * last parenthesis. These are processes that we started, not a property of the host: never use
 * the sysroot.
 */
static bool read_process(int proc_fd, const char *pid, struct process *ret)
{
	char path[32], text[STAT_MAX], *open_at, *close_at, *at;
	CLEANUP(closep) int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%.16s/stat", pid);
	fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	open_at = strchr(text, '(');
	close_at = strrchr(text, ')');
	if (!open_at || !close_at || close_at < open_at || close_at + 3 > text + n)
		return false;
	*close_at = '\0';
	(void)snprintf(ret->name, sizeof(ret->name), "%.16s", open_at + 1);
	ret->state = close_at[2];
	ret->pid = (pid_t)strtol(text, NULL, 10);
	ret->parent = (pid_t)strtol(close_at + 3, &at, 10);
	ret->group = (pid_t)strtol(at, NULL, 10);
	return true;
}

static bool is_ours(const struct sweep *sweep, const struct process *p)
{
	size_t i;

	if (p->parent == sweep->self)
		return true;
	for (i = 0; i < sweep->n; i++)
		if (sweep->pids[i] == p->parent)
			return true;
	return false;
}

/*
 * Kill the group first: the kernel does that atomically, so even a process that forks as fast as
 * it can does not escape. Groups in our session contain only our descendants, except our own,
 * which contains us.
 */
static void kill_process(struct sweep *sweep, const struct process *p)
{
	if (p->group > 1 && p->group != sweep->self_group && p->group != sweep->last_group) {
		(void)kill(-p->group, SIGKILL);
		sweep->last_group = p->group;
	}
	(void)kill(p->pid, SIGKILL);
}

/* One scan of /proc, which is ordered by PID: mostly parents before children. */
static void kill_all(struct process_tree *d, DIR *proc)
{
	struct sweep sweep = { .self = getpid(), .self_group = getpgrp() };
	struct dirent *entry;
	struct process p;

	d->left = 0;
	rewinddir(proc);
	while ((entry = readdir(proc))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		if (!read_process(dirfd(proc), entry->d_name, &p) || !is_ours(&sweep, &p))
			continue;
		if (sweep.n < SWEEP_PIDS_MAX)
			sweep.pids[sweep.n++] = p.pid;
		if (p.state == 'Z')
			continue;
		kill_process(&sweep, &p);
		d->left = p.pid;
		d->left_state = p.state;
		memcpy(d->left_name, p.name, sizeof(d->left_name));
	}
}

static void wait_death(int signal_fd, uint64_t deadline_us)
{
	struct pollfd p = { .fd = signal_fd, .events = POLLIN };
	struct signalfd_siginfo info[4];

	if (poll(&p, 1, MIN(clock_left_ms(deadline_us), (int)LOOK_AGAIN_MS)) > 0)
		(void)!read(signal_fd, info, sizeof(info));
}

int process_tree_end(struct process_tree *d, int signal_fd, uint64_t deadline_us)
{
	CLEANUP(closedirp) DIR *proc = NULL;

	while (process_tree_reap(d)) {
		if (!proc)
			proc = opendir("/proc");
		if (proc)
			kill_all(d, proc);
		else if (!d->main_gone) /* no /proc: the best we can do */
			(void)kill(-d->main, SIGKILL);
		if (clock_left_us(deadline_us) == 0)
			return -EBUSY;
		wait_death(signal_fd, deadline_us);
	}
	d->left = 0;
	return 0;
}
