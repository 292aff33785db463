/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/process_map.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agents/run/device_users.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/proc_stat.h"

enum {
	PROC_PATH_SIZE = 32,
	CGROUP_MAX = 16 * 1024, /* bytes: cgroup v1 has a line per hierarchy */
};

/* --- one process --- */

static double age_of(uint64_t start_ticks)
{
	const long hz = sysconf(_SC_CLK_TCK);
	struct timespec now;
	double age_s;

	if (hz <= 0 || clock_gettime(CLOCK_BOOTTIME, &now) < 0)
		return 0;
	age_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)start_ticks / (double)hz;
	return MAX(age_s, 0.0);
}

/* 8-4-4-4-12 hexadecimal digits; the systemd driver writes '_' for '-'. */
static bool is_uid(const char *text)
{
	size_t i;

	for (i = 0; i < PROCESS_POD_SIZE - 1; i++) {
		const bool between = i == 8 || i == 13 || i == 18 || i == 23;

		if (between ? text[i] != '-' && text[i] != '_' : !isxdigit((unsigned char)text[i]))
			return false;
	}
	return !isxdigit((unsigned char)text[i]);
}

void process_map_pod(const char *cgroup, char ret_pod[static PROCESS_POD_SIZE])
{
	const char *at = cgroup;
	size_t i;

	ret_pod[0] = '\0';
	while ((at = strstr(at, "pod"))) {
		at += 3;
		if (!is_uid(at))
			continue;
		for (i = 0; i < PROCESS_POD_SIZE - 1; i++)
			ret_pod[i] = at[i] == '_' ? '-' : (char)tolower((unsigned char)at[i]);
		ret_pod[i] = '\0';
		return;
	}
}

/* A pidfd; -1 if the kernel has none. */
static int open_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool has_ended(int pidfd)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };

	return pidfd >= 0 && poll(&ended, 1, 0) > 0;
}

static int read_entry(int proc_fd, struct process_entry *ret)
{
	CLEANUP(freep) char *cgroup = NULL;
	uint64_t after = 0;
	int r = proc_stat_start(proc_fd, &ret->start_ticks);

	if (r == 0)
		r = process_env_read(proc_fd, &ret->env);
	if (r < 0)
		return r;
	if (file_read(proc_fd, "cgroup", CGROUP_MAX, &cgroup, NULL, NULL) == 0)
		process_map_pod(cgroup, ret->pod);
	r = proc_stat_start(proc_fd, &after);
	return r == 0 && after != ret->start_ticks ? -ESRCH : r;
}

int process_map_entry(pid_t pid, struct process_entry *ret)
{
	CLEANUP(closep) int pidfd = open_pidfd(pid);
	CLEANUP(closep) int proc_fd = -1;
	struct process_entry entry = { .pod = "" };
	struct stat st;
	char path[PROC_PATH_SIZE];
	int r;

	if (pidfd < 0 && errno == ESRCH)
		return -ESRCH;
	(void)snprintf(path, sizeof(path), "/proc/%ld", (long)pid);
	proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		return -errno;
	r = fstat(proc_fd, &st) < 0 ? -errno : read_entry(proc_fd, &entry);
	if (r == 0 && has_ended(pidfd))
		r = -ESRCH;
	if (r < 0)
		return r;
	entry.pid = pid;
	entry.uid = st.st_uid;
	entry.age_s = age_of(entry.start_ticks);
	*ret = entry;
	return 0;
}

/* --- all of them --- */

struct map {
	struct process_entry *entries;
	size_t n;
};

static bool is_of_a_job(const struct process_entry *e)
{
	const char(*values)[PROCESS_ENV_VALUE_SIZE] = e->env.values;

	return (values[PROCESS_ENV_RANK][0] || values[PROCESS_ENV_PROCID][0]) &&
	       (values[PROCESS_ENV_JOB][0] || values[PROCESS_ENV_SLURM_JOB][0] || e->pod[0]);
}

static int compare_places(const struct process_entry *a, const struct process_entry *b)
{
	size_t i;
	int r = strcmp(a->pod, b->pod);

	for (i = 0; r == 0 && i < PROCESS_ENV_KEYS; i++)
		r = strcmp(a->env.values[i], b->env.values[i]);
	return r;
}

static int compare(const void *a, const void *b)
{
	return compare_places(a, b);
}

/* Forks, such as data loaders, have the rank's environment: the oldest process counts. */
static bool is_fork(struct map *map, const struct process_entry *entry)
{
	size_t i;

	for (i = 0; i < map->n; i++) {
		struct process_entry *known = &map->entries[i];

		if (compare_places(known, entry) != 0 || known->uid != entry->uid)
			continue;
		if (entry->start_ticks < known->start_ticks)
			*known = *entry;
		return true;
	}
	return false;
}

static bool add_user(void *context, const struct device_user *user)
{
	struct map *map = context;
	struct process_entry entry;

	if (process_map_entry(user->pid, &entry) == 0 && is_of_a_job(&entry) &&
	    !is_fork(map, &entry))
		map->entries[map->n++] = entry;
	return map->n < PROCESS_MAP_MAX;
}

/* GPUs among the device nodes of the sysroot; the caller frees all paths. */
struct nodes {
	char *all[DEVICE_NODES_MAX], *gpus[DEVICE_NODES_MAX];
	size_t n_all, n_gpus;
};

static void find_nodes(struct nodes *nodes)
{
	size_t i;

	nodes->n_all = device_nodes(nodes->all);
	nodes->n_gpus = 0;
	for (i = 0; i < nodes->n_all; i++) {
		if (!strstr(nodes->all[i], "/dev/infiniband/"))
			nodes->gpus[nodes->n_gpus++] = nodes->all[i];
	}
}

static void release_nodes(struct nodes *nodes)
{
	size_t i;

	for (i = 0; i < nodes->n_all; i++)
		free(nodes->all[i]);
}

size_t process_map_read(struct process_entry ret[static PROCESS_MAP_MAX])
{
	struct map map = { .entries = ret };
	struct nodes nodes;

	find_nodes(&nodes);
	device_users_each(nodes.gpus, nodes.n_gpus, add_user, &map);
	release_nodes(&nodes);
	qsort(ret, map.n, sizeof(*ret), compare);
	return map.n;
}

int process_map_of(pid_t pid, struct process_entry *ret)
{
	struct process_entry entry;
	struct nodes nodes;
	bool holds;
	int r = process_map_entry(pid, &entry);

	if (r < 0)
		return r;
	if (!is_of_a_job(&entry))
		return -ENOENT;
	find_nodes(&nodes);
	holds = device_users_is(nodes.gpus, nodes.n_gpus, pid);
	release_nodes(&nodes);
	if (!holds)
		return -ENOENT;
	*ret = entry;
	return 0;
}

static json_t *encode(const struct process_entry *entry, bool ages)
{
	json_t *env = json_object(),
	       *item = json_pack("{s:I, s:o}", "start", (json_int_t)entry->start_ticks, "env", env);
	size_t i;

	for (i = 0; i < PROCESS_ENV_TOLD; i++) {
		if (entry->env.values[i][0])
			(void)json_object_set_new(env, process_env_keys[i],
						  json_string(entry->env.values[i]));
	}
	if (entry->pod[0])
		(void)json_object_set_new(item, "pod", json_string(entry->pod));
	if (ages)
		(void)json_object_set_new(item, "age_s", json_real(entry->age_s));
	return item;
}

json_t *process_map_encode(const struct process_entry *entries, size_t n, bool ages)
{
	json_t *all = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		(void)json_array_append_new(all, encode(&entries[i], ages));
	return all;
}
