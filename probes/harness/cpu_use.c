/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/harness/cpu_use.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

enum {
	STAT_MAX = 8 * 1024 * 1024, /* limit for /proc/stat, most of which is the intr line */
	PATH_SIZE = 96,
	TOP = 8,	    /* processes whose threads are examined */
	THREADS_MAX = 4096, /* per process */
	STATUS_MAX = 64 * 1024,
	MOVING_FACTOR = 4, /* see cpu_use_busiest() */
	NS_PER_SEC = 1000000000,
};

/* Fields of /proc/PID/stat, counted from 0 after the ")" that ends the command. */
enum { FIELD_UTIME = 11, FIELD_STIME = 12, FIELD_PROCESSOR = 36 };

/* Columns of a cpu line of /proc/stat. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, COLUMNS };

static uint64_t ticks_to_ns(uint64_t ticks)
{
	long hz = sysconf(_SC_CLK_TCK);

	return ticks * (NS_PER_SEC / (uint64_t)(hz > 0 ? hz : 100));
}

/* Parse the next integer at `*at` and advance past it; 0 if there is none. */
static uint64_t next_number(const char **at)
{
	char *end = NULL;
	uint64_t value;

	*at += strspn(*at, " \t");
	if (!isdigit((unsigned char)**at))
		return 0;
	value = strtoull(*at, &end, 10);
	*at = end;
	return value;
}

/* "cpu12 4705 356 584 ...": the line of one core; older kernels have fewer columns. */
static void read_core(const char *line, struct cpu_look *look)
{
	const char *at = line + strlen("cpu");
	uint64_t ticks[COLUMNS];
	uint64_t cpu = next_number(&at);
	struct cpu_use_core *core;
	size_t i;

	if (cpu >= CPU_USE_CPUS_MAX)
		return;
	for (i = 0; i < COLUMNS; i++)
		ticks[i] = next_number(&at);
	if (cpu >= look->n_cores) {
		look->cores = xrealloc(look->cores, cpu + 1, sizeof(*look->cores));
		memset(look->cores + look->n_cores, 0,
		       (cpu + 1 - look->n_cores) * sizeof(*look->cores));
		look->n_cores = cpu + 1;
	}
	core = &look->cores[cpu];
	core->present = true;
	core->busy_ns = ticks_to_ns(ticks[USER] + ticks[NICE] + ticks[SYSTEM] + ticks[IRQ] +
				    ticks[SOFTIRQ]);
	core->steal_ns = ticks_to_ns(ticks[STEAL]);
}

/* The next line; "" after the last. */
static const char *next_line(const char *at)
{
	at += strcspn(at, "\n");
	return *at ? at + 1 : at;
}

static int read_cores(int proc_fd, struct cpu_look *look, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	const char *line;
	int r = file_read(proc_fd, "stat", STAT_MAX, &text, NULL, err);

	if (r < 0)
		return err_wrap(err, r, "/proc");
	for (line = text; starts_with(line, "cpu"); line = next_line(line)) {
		if (isdigit((unsigned char)line[3]))
			read_core(line, look);
	}
	return look->n_cores ? 0 : err_set(err, EINVAL, "/proc/stat: no line for any core");
}

/* Field number `field` after the command in a stat line; 0 if there are fewer. */
static uint64_t stat_field(const char *text, unsigned field)
{
	const char *at = strrchr(text, ')');
	unsigned i;

	for (i = 0; at && i <= field; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at ? next_number(&at) : 0;
}

static bool is_number(const char *name)
{
	return *name && name[strspn(name, "0123456789")] == '\0';
}

static DIR *open_dir(int dir_fd, const char *path)
{
	CLEANUP(closep) int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		(void)TAKE_FD(fd);
	return dir;
}

static void add_process(int proc_fd, const char *name, struct cpu_look *look)
{
	CLEANUP(freep) char *text = NULL;
	char path[PATH_SIZE];
	uint64_t ticks;

	(void)snprintf(path, sizeof(path), "%.20s/stat", name);
	if (file_read_line(proc_fd, path, &text) < 0)
		return; /* it has exited */
	ticks = stat_field(text, FIELD_UTIME) + stat_field(text, FIELD_STIME);
	if (look->n_processes % 256 == 0)
		look->processes = xrealloc(look->processes, look->n_processes + 256,
					   sizeof(*look->processes));
	look->processes[look->n_processes++] = (struct cpu_use_process){
		.pid = strtol(name, NULL, 10),
		.ns = ticks_to_ns(ticks),
	};
}

static int by_pid(const void *a, const void *b)
{
	const struct cpu_use_process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void read_processes(int proc_fd, struct cpu_look *look)
{
	CLEANUP(closedirp) DIR *dir = open_dir(proc_fd, ".");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) && look->n_processes < CPU_USE_PROCESSES_MAX) {
		if (is_number(entry->d_name))
			add_process(proc_fd, entry->d_name, look);
	}
	if (look->n_processes)
		qsort(look->processes, look->n_processes, sizeof(*look->processes), by_pid);
}

int cpu_look_take(int proc_fd, bool with_processes, struct cpu_look *ret, struct err *err)
{
	struct cpu_look look = { .at_us = clock_mono_us() };
	int r = read_cores(proc_fd, &look, err);

	if (r < 0) {
		cpu_look_release(&look);
		return r;
	}
	if (with_processes)
		read_processes(proc_fd, &look);
	*ret = look;
	return 0;
}

void cpu_look_release(struct cpu_look *look)
{
	free(look->cores);
	free(look->processes);
	*look = (struct cpu_look){ 0 };
}

static bool knows(const struct cpu_look *look, unsigned cpu)
{
	return cpu < look->n_cores && look->cores[cpu].present;
}

/* A share of the window, clamped because the clocks do not quite agree. */
static double share(uint64_t from_ns, uint64_t to_ns, const struct cpu_look *from,
		    const struct cpu_look *to)
{
	double window_ns = ((double)to->at_us - (double)from->at_us) * 1e3;

	if (window_ns <= 0 || to_ns <= from_ns)
		return 0;
	return (double)(to_ns - from_ns) / window_ns;
}

double cpu_use_busy(const struct cpu_look *from, const struct cpu_look *to, unsigned cpu)
{
	if (!knows(from, cpu) || !knows(to, cpu))
		return 0;
	return MIN(1.0, share(from->cores[cpu].busy_ns, to->cores[cpu].busy_ns, from, to));
}

double cpu_use_steal(const struct cpu_look *from, const struct cpu_look *to, unsigned cpu)
{
	if (!knows(from, cpu) || !knows(to, cpu))
		return 0;
	return MIN(1.0, share(from->cores[cpu].steal_ns, to->cores[cpu].steal_ns, from, to));
}

uint64_t cpu_look_steal_ns(const struct cpu_look *look, unsigned cpu)
{
	return knows(look, cpu) ? look->cores[cpu].steal_ns : 0;
}

/* Did thread `tid` last run on one of the cores? */
static bool ran_on(int proc_fd, long pid, const char *tid, const struct cpu_use_cpus *cpus)
{
	CLEANUP(freep) char *text = NULL;
	char path[PATH_SIZE];
	uint64_t last;
	size_t i;

	(void)snprintf(path, sizeof(path), "%ld/task/%.20s/stat", pid, tid);
	if (file_read_line(proc_fd, path, &text) < 0)
		return false;
	last = stat_field(text, FIELD_PROCESSOR);
	for (i = 0; i < cpus->n; i++)
		if (cpus->v[i] == last)
			return true;
	return false;
}

static bool any_thread_ran_on(int proc_fd, long pid, const struct cpu_use_cpus *cpus)
{
	char path[PATH_SIZE];
	CLEANUP(closedirp) DIR *dir = NULL;
	const struct dirent *entry;
	unsigned n = 0;

	(void)snprintf(path, sizeof(path), "%ld/task", pid);
	dir = open_dir(proc_fd, path);
	while (dir && (entry = readdir(dir)) && n < THREADS_MAX) {
		if (!is_number(entry->d_name))
			continue;
		n++;
		if (ran_on(proc_fd, pid, entry->d_name, cpus))
			return true;
	}
	return false;
}

/* The command of a process from /proc; "?" if it is gone. */
static void read_command(int proc_fd, long pid, char ret[static CPU_USE_COMMAND_SIZE])
{
	CLEANUP(freep) char *text = NULL;
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%ld/comm", pid);
	if (file_read_line(proc_fd, path, &text) < 0)
		text = xstrdup("?");
	(void)snprintf(ret, CPU_USE_COMMAND_SIZE, "%s", text);
}

/* CPU time of the process at that look; 0 if it did not exist. */
static uint64_t time_of(const struct cpu_look *look, long pid)
{
	const struct cpu_use_process key = { .pid = pid }, *found = NULL;

	if (look->n_processes)
		found = bsearch(&key, look->processes, look->n_processes, sizeof(key), by_pid);
	return found ? found->ns : 0;
}

/* Insert into the `TOP` largest, in descending order. */
static void insert_top(struct cpu_use_process top[static TOP], struct cpu_use_process p)
{
	size_t i;

	for (i = 0; i < TOP; i++) {
		if (p.ns > top[i].ns) {
			struct cpu_use_process moved = top[i];

			top[i] = p;
			p = moved;
		}
	}
}

/* "Cpus_allowed_list:\t0-3,8" in /proc/PID/status: may it run on one of the cores? */
static bool may_run_on(int proc_fd, long pid, const struct cpu_use_cpus *cpus)
{
	static const char key[] = "\nCpus_allowed_list:";
	CLEANUP(freep) char *text = NULL;
	char path[PATH_SIZE];
	const char *at;

	(void)snprintf(path, sizeof(path), "%ld/status", pid);
	if (file_read(proc_fd, path, STATUS_MAX, &text, NULL, NULL) < 0)
		return false;
	at = strstr(text, key);
	at = at ? at + strlen(key) : "";
	for (at += strspn(at, " \t"); isdigit((unsigned char)*at); at += *at == ',') {
		uint64_t first = next_number(&at), last = first;
		size_t i;

		if (*at == '-') {
			at++;
			last = next_number(&at);
		}
		for (i = 0; i < cpus->n; i++)
			if (cpus->v[i] >= first && cpus->v[i] <= last)
				return true;
	}
	return false;
}

/* Index of the first of `top` for which `is_here` is true, or `TOP`. */
static size_t first_here(int proc_fd, const struct cpu_use_process top[static TOP],
			 const struct cpu_use_cpus *cpus,
			 bool (*is_here)(int, long, const struct cpu_use_cpus *))
{
	size_t i;

	for (i = 0; i < TOP && top[i].ns; i++) {
		if (is_here(proc_fd, top[i].pid, cpus))
			return i;
	}
	return TOP;
}

void cpu_use_busiest(int proc_fd, const struct cpu_use_window *window,
		     const struct cpu_use_cpus *cpus, long self, struct cpu_user *ret)
{
	struct cpu_use_process top[TOP] = { 0 };
	size_t i, here, moving;

	*ret = (struct cpu_user){ 0 };
	for (i = 0; i < window->to->n_processes; i++) {
		struct cpu_use_process p = window->to->processes[i];
		uint64_t before = time_of(window->from, p.pid);

		if (p.pid == self || p.ns <= before)
			continue;
		p.ns -= before;
		insert_top(top, p);
	}
	here = first_here(proc_fd, top, cpus, any_thread_ran_on);
	moving = first_here(proc_fd, top, cpus, may_run_on);
	if (moving < TOP && (here == TOP || top[here].ns * MOVING_FACTOR < top[moving].ns))
		here = moving;
	if (here == TOP)
		return;
	ret->pid = top[here].pid;
	ret->share = share(0, top[here].ns, window->from, window->to);
	read_command(proc_fd, ret->pid, ret->command);
}

int cpu_use_schedstat(int proc_fd, long pid, long tid, uint64_t *ret_ran_ns, uint64_t *ret_waited_ns)
{
	CLEANUP(freep) char *text = NULL;
	char path[PATH_SIZE];
	const char *at;
	uint64_t ran, waited;
	int r;

	(void)snprintf(path, sizeof(path), "%ld/task/%ld/schedstat", pid, tid);
	r = file_read_line(proc_fd, path, &text);
	if (r < 0)
		return r;
	at = text;
	ran = next_number(&at);
	waited = next_number(&at);
	if (ret_ran_ns)
		*ret_ran_ns = ran;
	if (ret_waited_ns)
		*ret_waited_ns = waited;
	return 0;
}
