/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else runs on a core: two looks at /proc/PID/task/TID/stat and what each
 * thread used in between. One look serves all cores, so it is taken anew only
 * when a core asks a second time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/err.h"
#include "lib/file.h"
#include "lib/paths.h"
#include "lib/xalloc.h"
#include "probes/accel/host.h"

enum {
	HOST_THREADS_MAX = 262144,
	HOST_LOOK_MIN_US = 200000, /* ticks are 10 ms: a shorter look tells no share */
};

/* Fields after the command of /proc/PID/stat, proc(5): state is the third. */
enum { FIELD_FIRST = 3, FIELD_UTIME = 14, FIELD_STIME = 15, FIELD_PROCESSOR = 39 };

/* A thread that stayed on the core is preferred to one that moves and used up to this much more. */
static const double prefer_settled = 4;

static bool parse_stat(const char *text, struct host_usage *ret)
{
	const char *at = strrchr(text, ')'); /* a command may hold anything, also ") R 1" */
	uint64_t user = 0, system = 0;
	int field;

	if (!at)
		return false;
	at++;
	for (field = FIELD_FIRST; field <= FIELD_PROCESSOR; field++) {
		at += strspn(at, " ");
		if (!*at)
			return false;
		if (field == FIELD_UTIME)
			user = strtoull(at, NULL, 10);
		if (field == FIELD_STIME)
			system = strtoull(at, NULL, 10);
		if (field == FIELD_PROCESSOR)
			ret->cpu = (unsigned)strtoul(at, NULL, 10);
		at += strcspn(at, " ");
	}
	ret->ticks = user + system;
	return ret->cpu < HOST_CPUS_MAX;
}

static bool scan_add(struct host_scan *scan, const struct host_usage *usage)
{
	if (scan->n == HOST_THREADS_MAX)
		return false;
	if (scan->n == scan->alloc) {
		size_t alloc = scan->alloc ? scan->alloc * 2 : 1024;
		void *threads = realloc(scan->threads, alloc * sizeof(*scan->threads));

		if (!threads)
			return false;
		scan->threads = threads;
		scan->alloc = alloc;
	}
	scan->threads[scan->n++] = *usage;
	return true;
}

/* The number that a name under /proc is, or 0. */
static pid_t name_to_pid(const char *name)
{
	char *end = NULL;
	long pid = strtol(name, &end, 10);

	return name[0] >= '1' && name[0] <= '9' && !*end && pid < INT32_MAX ? (pid_t)pid : 0;
}

static DIR *open_dir_at(int dir_fd, const char *path)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		(void)close(fd);
	return dir;
}

static void scan_threads(struct host_scan *scan, int proc_fd, pid_t pid)
{
	char path[64];
	const struct dirent *entry;
	bool room = true;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "%ld/task", (long)pid);
	dir = open_dir_at(proc_fd, path);
	while (dir && room && (entry = readdir(dir))) {
		struct host_usage usage = { .pid = pid, .tid = name_to_pid(entry->d_name) };
		CLEANUP(freep) char *text = NULL;

		if (!usage.tid)
			continue;
		(void)snprintf(path, sizeof(path), "%ld/stat", (long)usage.tid);
		if (file_read_line(dirfd(dir), path, &text) == 0 && parse_stat(text, &usage))
			room = scan_add(scan, &usage);
	}
	if (dir)
		(void)closedir(dir);
}

static int by_tid(const void *a, const void *b)
{
	const struct host_usage *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

static void scan(struct host_scan *scan)
{
	CLEANUP(freep) char *path = xasprintf("%s/proc", paths_sysroot());
	DIR *dir = open_dir_at(AT_FDCWD, path);
	const struct dirent *entry;

	scan->n = 0;
	scan->time_us = clock_mono_us();
	while (dir && (entry = readdir(dir))) {
		pid_t pid = name_to_pid(entry->d_name);

		if (pid && pid != getpid())
			scan_threads(scan, dirfd(dir), pid);
	}
	if (dir)
		(void)closedir(dir);
	if (scan->n)
		qsort(scan->threads, scan->n, sizeof(*scan->threads), by_tid);
}

static void scan_again(struct host *h)
{
	struct host_scan old = h->before;
	unsigned i;

	h->before = h->now;
	h->now = old;
	scan(&h->now);
	for (i = 0; i < h->n_cores; i++)
		h->cores[i].answered = false;
}

void host_others_init(struct host *h)
{
	scan(&h->now);
}

void host_others_release(struct host *h)
{
	free(h->before.threads);
	free(h->now.threads);
}

/* May the thread run on the core? When that cannot be told: yes. */
static bool may_run(pid_t tid, const struct host_core *core)
{
	size_t set_size = CPU_ALLOC_SIZE(HOST_CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(HOST_CPUS_MAX);
	bool may = true;

	if (set && sched_getaffinity(tid, set_size, set) == 0)
		may = CPU_ISSET_S(core->cpu, set_size, set);
	CPU_FREE(set);
	return may;
}

struct busiest {
	const struct host_usage *settled, *moving; /* NULL: nobody */
	uint64_t settled_ticks, moving_ticks;
};

static void look_at(const struct host *h, const struct host_core *core,
		    const struct host_usage *now, struct busiest *best)
{
	size_t set_size = CPU_ALLOC_SIZE(HOST_CPUS_MAX);
	const struct host_usage *was = NULL;
	bool here = CPU_ISSET_S(now->cpu, set_size, core->group);
	uint64_t ticks = now->ticks;

	if (h->before.n)
		was = bsearch(now, h->before.threads, h->before.n, sizeof(*now), by_tid);
	if (was && was->pid == now->pid && was->ticks <= ticks) {
		ticks -= was->ticks;
		here = here && CPU_ISSET_S(was->cpu, set_size, core->group);
	}
	if (here && ticks > best->settled_ticks) {
		best->settled = now;
		best->settled_ticks = ticks;
	} else if (!here && ticks > best->moving_ticks && may_run(now->tid, core)) {
		best->moving = now;
		best->moving_ticks = ticks;
	}
}

static void read_command(pid_t pid, char ret_command[64])
{
	CLEANUP(freep) char *path = xasprintf("%s/proc/%ld/comm", paths_sysroot(), (long)pid);
	CLEANUP(freep) char *text = NULL;

	if (file_read_line(AT_FDCWD, path, &text) < 0)
		text = xstrdup("ended");
	(void)snprintf(ret_command, 64, "%s", text);
}

int host_others(struct accel *a, unsigned device, long *ret_pid, char ret_command[64],
		double *ret_share, struct err *err)
{
	struct host *h = host_of(a);
	struct busiest best = { 0 };
	const struct host_usage *who;
	uint64_t looked_us;
	size_t i;

	if (device >= h->n_cores)
		return err_set(err, ENODEV, "no core %u: there are %u", device, h->n_cores);
	if (h->cores[device].answered)
		scan_again(h);
	h->cores[device].answered = true;
	for (i = 0; i < h->now.n; i++)
		look_at(h, &h->cores[device], &h->now.threads[i], &best);
	who = best.settled;
	if ((double)best.settled_ticks * prefer_settled < (double)best.moving_ticks)
		who = best.moving;
	looked_us = h->now.time_us - h->before.time_us;
	*ret_pid = who ? who->pid : 0;
	*ret_share = 0;
	ret_command[0] = '\0';
	if (!who)
		return 0;
	read_command(who->pid, ret_command);
	*ret_share = NAN;
	if (who == best.settled && looked_us >= HOST_LOOK_MIN_US)
		*ret_share = MIN(1.0, (double)best.settled_ticks / ((double)sysconf(_SC_CLK_TCK) *
								    (double)looked_us * 1e-6));
	return 0;
}
