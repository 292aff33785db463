/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/hang_sight.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agents/assayd/hang_call.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "lib/sys/file.h"
#include "lib/sys/proc_stat.h"

enum {
	PATH_SIZE = 64,
	STATUS_MAX = 16 * 1024, /* bytes: lists of CPUs and nodes are long on large hosts */
	DECIMAL = 10,
};

/*
 * Shares of the time between two samples. A thread that was runnable throughout never slept (the
 * rest is the duration of the sampling). One that computed for half of it is running. A tenth in
 * the kernel means that it makes system calls, like copying files. Our choices.
 */
#define SPIN_PART 0.9
#define RUN_PART 0.5
#define KERNEL_PART 0.1

#define NS_PER_US 1000.0

/* --- one thread --- */

static int read_stat(int proc_fd, pid_t tid, struct hang_thread *ret)
{
	CLEANUP(freep) char *text = NULL;
	const char *state, *user, *system;
	char path[PATH_SIZE];
	int r;

	(void)snprintf(path, sizeof(path), "task/%ld/stat", (long)tid);
	r = file_read_line(proc_fd, path, &text);
	if (r < 0)
		return r;
	state = proc_stat_field(text, PROC_STAT_STATE);
	user = proc_stat_field(text, PROC_STAT_UTIME);
	system = proc_stat_field(text, PROC_STAT_STIME);
	if (!state || !user || !system)
		return -EINVAL;
	*ret = (struct hang_thread){
		.tid = tid,
		.state = *state,
		.user_ticks = strtoull(user, NULL, DECIMAL),
		.system_ticks = strtoull(system, NULL, DECIMAL),
		.call = HANG_SIGHT_ANY_CALL,
	};
	return 0;
}

static void read_switches(int proc_fd, struct hang_thread *t)
{
	static const char key[] = "\nvoluntary_ctxt_switches:";
	CLEANUP(freep) char *text = NULL;
	char path[PATH_SIZE];
	const char *at;

	(void)snprintf(path, sizeof(path), "task/%ld/status", (long)t->tid);
	if (file_read(proc_fd, path, STATUS_MAX, &text, NULL, NULL) < 0)
		return;
	at = strstr(text, key);
	if (at)
		t->switches = strtoull(at + strlen(key), NULL, DECIMAL);
}

static void read_schedule(int proc_fd, struct hang_thread *t)
{
	CLEANUP(freep) char *text = NULL;
	char path[PATH_SIZE], *end;

	(void)snprintf(path, sizeof(path), "task/%ld/schedstat", (long)t->tid);
	if (file_read_line(proc_fd, path, &text) < 0)
		return;
	t->run_ns = strtoull(text, &end, DECIMAL);
	t->queued_ns = strtoull(end, NULL, DECIMAL);
}

/* "running", "-1 SP PC", or "NUMBER ARGUMENT... SP PC". */
static void read_call(int proc_fd, struct hang_thread *t)
{
	CLEANUP(freep) char *text = NULL;
	char path[PATH_SIZE], *end;

	(void)snprintf(path, sizeof(path), "task/%ld/syscall", (long)t->tid);
	if (file_read_line(proc_fd, path, &text) < 0)
		return;
	t->call = HANG_SIGHT_NO_CALL;
	if (!isdigit((unsigned char)text[0]))
		return;
	t->call = strtoll(text, &end, DECIMAL);
	t->argument = strtoull(end, NULL, 0);
}

static void read_wchan(int proc_fd, struct hang_thread *t)
{
	CLEANUP(freep) char *text = NULL;
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "task/%ld/wchan", (long)t->tid);
	if (file_read_line(proc_fd, path, &text) == 0 && !streq(text, "0"))
		(void)snprintf(t->wchan, sizeof(t->wchan), "%s", ascii_clean(text));
}

static void read_rest(int proc_fd, struct hang_thread *t)
{
	read_switches(proc_fd, t);
	read_schedule(proc_fd, t);
	read_call(proc_fd, t);
	read_wchan(proc_fd, t);
}

/* --- a process --- */

int hang_sight_open(pid_t pid, uint64_t start_ticks)
{
	CLEANUP(closep) int fd = -1;
	uint64_t found = 0;
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "/proc/%ld", (long)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	if (proc_stat_start(fd, &found) < 0 || found != start_ticks)
		return -ESRCH;
	return TAKE_FD(fd);
}

static bool has_ended(const struct hang_thread *t)
{
	return t->state == 'Z' || t->state == 'X';
}

static bool is_worth_noting(const struct hang_sight *sight, const struct hang_thread *t)
{
	return sight->n_noted < HANG_SIGHT_NOTED_MAX && strchr("RDTt", t->state);
}

static void take_thread(int proc_fd, pid_t tid, struct hang_sight *sight)
{
	struct hang_thread t;

	if (read_stat(proc_fd, tid, &t) < 0 || has_ended(&t))
		return;
	sight->n_threads++;
	if (sight->n_noted > 0 && !is_worth_noting(sight, &t))
		return;
	read_rest(proc_fd, &t);
	sight->noted[sight->n_noted++] = t;
}

static pid_t pid_of(int proc_fd)
{
	CLEANUP(freep) char *text = NULL;

	return file_read_line(proc_fd, "stat", &text) < 0 ? 0 : (pid_t)strtol(text, NULL, DECIMAL);
}

static void take_others(int proc_fd, pid_t main_thread, struct hang_sight *sight)
{
	const int fd = openat(proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	size_t n = 0;

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while (n++ < HANG_SIGHT_THREADS_MAX && (entry = readdir(dir))) {
		const pid_t tid = (pid_t)strtol(entry->d_name, NULL, DECIMAL);

		if (tid > 0 && tid != main_thread)
			take_thread(proc_fd, tid, sight);
	}
	(void)closedir(dir);
}

void hang_sight_look(int proc_fd, uint64_t now_us, struct hang_sight *ret)
{
	const pid_t pid = pid_of(proc_fd);

	*ret = (struct hang_sight){ .at_us = now_us, .gone = pid <= 0 };
	if (ret->gone)
		return;
	/* The main thread first; if it has ended before the others, one of these. */
	take_thread(proc_fd, pid, ret);
	take_others(proc_fd, pid, ret);
	ret->gone = ret->n_threads == 0 && pid_of(proc_fd) <= 0;
}

/* --- judging --- */

static const struct hang_thread *find(const struct hang_sight *sight, pid_t tid)
{
	size_t i;

	for (i = 0; i < sight->n_noted; i++) {
		if (sight->noted[i].tid == tid)
			return &sight->noted[i];
	}
	return NULL;
}

/* Shares of the time between the samples, 0 to 1. */
struct parts {
	double user, system, computed, could_run;
};

static struct parts parts_of(const struct hang_thread *a, const struct hang_thread *b,
			     uint64_t apart_us)
{
	const double hz = (double)MAX(sysconf(_SC_CLK_TCK), 1L);
	const double apart_s = (double)apart_us / USEC_PER_SEC;
	const double apart_ns = (double)apart_us * NS_PER_US;
	struct parts parts = {
		.user = (double)(b->user_ticks - a->user_ticks) / hz / apart_s,
		.system = (double)(b->system_ticks - a->system_ticks) / hz / apart_s,
	};
	parts.computed = parts.could_run = parts.user + parts.system;
	if (a->run_ns && b->run_ns) {
		parts.computed = (double)(b->run_ns - a->run_ns) / apart_ns;
		parts.could_run = parts.computed + (double)(b->queued_ns - a->queued_ns) / apart_ns;
	}
	return parts;
}

static bool is_still(const struct hang_thread *a, const struct hang_thread *b)
{
	return a && a->state == b->state && a->switches == b->switches && a->call == b->call &&
	       a->argument == b->argument && streq(a->wchan, b->wchan);
}

/*
 * A thread that waits for a CPU on a busy host spins, too. Its kernel time must be small even
 * relative to the time in which it was runnable.
 */
static bool is_spinning(const struct hang_thread *a, const struct hang_thread *b, uint64_t apart_us)
{
	const struct parts parts = parts_of(a, b, apart_us);

	return a->state == 'R' && b->state == 'R' && a->switches == b->switches &&
	       parts.could_run >= SPIN_PART && parts.computed > 0 &&
	       parts.system <= KERNEL_PART * parts.could_run && parts.user > parts.system;
}

/* Has the thread waited for a device or file system throughout? */
static bool is_in_disk(const struct hang_thread *a, const struct hang_thread *b)
{
	return is_still(a, b) && (b->state == 'D' || hang_call_is_file_system(b->wchan)) &&
	       !hang_call_is_frozen(b->wchan);
}

static bool is_waiting(const struct hang_thread *a, const struct hang_thread *b)
{
	return strchr("SI", a->state) && strchr("SI", b->state) && a->call == b->call &&
	       a->argument == b->argument;
}

static uint8_t judge_main(const struct hang_thread *a, const struct hang_thread *b,
			  uint64_t apart_us)
{
	if (is_spinning(a, b, apart_us))
		return HANG_PROCESS_SPINNING;
	if (b->state == 'R' || parts_of(a, b, apart_us).computed >= RUN_PART || !is_waiting(a, b))
		return HANG_PROCESS_RUNNING;
	return hang_call_is_futex(b->call) ? HANG_PROCESS_FUTEX : HANG_PROCESS_SLEEPING;
}

static bool is_stopped(const struct hang_thread *t)
{
	return t->state == 'T' || hang_call_is_frozen(t->wchan);
}

/* From a single sample; HANG_PROCESS_UNKNOWN if that is not enough. */
static uint8_t judge_one(const struct hang_sight *sight)
{
	const struct hang_thread *first = &sight->noted[0];

	if (sight->gone)
		return HANG_PROCESS_GONE;
	if (sight->n_threads == 0)
		return HANG_PROCESS_ZOMBIE;
	if (first->state == 't')
		return HANG_PROCESS_TRACED;
	return is_stopped(first) ? HANG_PROCESS_STOPPED : HANG_PROCESS_UNKNOWN;
}

static void take_place(const struct hang_thread *t, bool still, struct hang_doing *ret)
{
	ret->tid = t->tid;
	ret->still = still;
	memcpy(ret->wchan, t->wchan, sizeof(ret->wchan));
	hang_call_name(t->call, ret->call, sizeof(ret->call));
}

/* From all threads in both samples. */
static void judge_two(const struct hang_sight *before, const struct hang_sight *after,
		      struct hang_doing *ret)
{
	const uint64_t apart_us = after->at_us - before->at_us;
	const struct hang_thread *was = find(before, after->noted[0].tid);
	size_t i;

	for (i = 0; i < after->n_noted; i++) {
		const struct hang_thread *b = &after->noted[i], *a = find(before, b->tid);

		if (!a)
			continue;
		if (is_spinning(a, b, apart_us))
			ret->n_spinning++;
		if (ret->process == HANG_PROCESS_UNKNOWN && is_in_disk(a, b)) {
			ret->process = HANG_PROCESS_DISK;
			take_place(b, true, ret);
		}
	}
	if (ret->process == HANG_PROCESS_UNKNOWN && was)
		ret->process = judge_main(was, &after->noted[0], apart_us);
}

void hang_sight_judge(const struct hang_sight *before, const struct hang_sight *after,
		      struct hang_doing *ret)
{
	const bool twice = before->at_us && !before->gone && before->n_noted &&
			   after->at_us >= before->at_us + HANG_SIGHT_APART_US;

	*ret = (struct hang_doing){ .process = judge_one(after), .n_threads = after->n_threads };
	if (after->gone || !after->n_noted)
		return;
	take_place(&after->noted[0],
		   twice && is_still(find(before, after->noted[0].tid), &after->noted[0]), ret);
	if (twice)
		judge_two(before, after, ret);
}

bool hang_sight_stands(const struct hang_doing *doing)
{
	return doing->process == HANG_PROCESS_STOPPED || doing->process == HANG_PROCESS_DISK;
}
