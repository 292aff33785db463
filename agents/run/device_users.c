/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/device_users.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

/* How many generations of descendants are recognized. */
enum { GENERATIONS_MAX = 64, PROC_PATH_SIZE = 64, NAME_SIZE = 4096 };

static const char *const node_patterns[] = {
	"/dev/nvidia[0-9]*",
	"/dev/kfd",
	"/dev/dri/renderD*",
	"/dev/infiniband/uverbs*",
};

/*
 * Monitors and services that keep a GPU or RNIC open without loading it: NVIDIA's persistence
 * daemon, fabric manager, DCGM host engine and IMEX; Kubernetes device plug-ins; other monitors
 * (gpud, node-problem-detector).
 */
static const char *const allowed[] = {
	"nvidia-persiste", "nv-fabricmanage", "nv-hostengine",	 "dcgm-exporter", "nvidia-imex",
	"nvidia-smi",	   "nvidia-device-p", "gpu-feature-dis", "gpud",	  "node-problem-de",
	"assayd",
};

size_t device_nodes(char *ret_paths[static DEVICE_NODES_MAX])
{
	size_t n = 0, i, j;

	for (i = 0; i < ARRAY_SIZE(node_patterns); i++) {
		CLEANUP(freep) char *pattern = xasprintf("%s%s", paths_sysroot(), node_patterns[i]);
		glob_t found = { 0 };

		if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
			for (j = 0; j < found.gl_pathc && n < DEVICE_NODES_MAX; j++)
				ret_paths[n++] = xstrdup(found.gl_pathv[j]);
		}
		globfree(&found);
	}
	return n;
}

/* A device file, compared by device and inode, because names differ in containers. */
struct target {
	dev_t dev, rdev;
	ino_t ino;
	bool is_device;
};

static bool same(const struct target *t, const struct stat *st)
{
	if (t->is_device)
		return S_ISCHR(st->st_mode) && st->st_rdev == t->rdev;
	return st->st_dev == t->dev && st->st_ino == t->ino;
}

static size_t look_up(char *const *paths, size_t n, struct target *ret)
{
	struct stat st;
	size_t i;

	for (i = 0; i < n; i++) {
		ret[i] = (struct target){ .is_device = true, .rdev = (dev_t)-1 };
		if (stat(paths[i], &st) == 0)
			ret[i] = (struct target){ .dev = st.st_dev,
						  .rdev = st.st_rdev,
						  .ino = st.st_ino,
						  .is_device = S_ISCHR(st.st_mode) };
	}
	return n;
}

/*
 * Only files in a /dev, possibly a container's, are examined: stat() of others may block on their
 * file system, like that of a hung job. The name comes from the kernel without touching the file.
 */
static bool may_be_device(int dir_fd, const char *fd)
{
	char name[NAME_SIZE];
	const ssize_t n = readlinkat(dir_fd, fd, name, sizeof(name) - 1);

	if (n <= 0)
		return false;
	name[n] = '\0';
	return strstr(name, "/dev/");
}

/* Index of the target that process `pid` holds open, or -1. */
static int held_by(pid_t pid, const struct target *targets, size_t n)
{
	char path[PROC_PATH_SIZE];
	CLEANUP(closedirp) DIR *dir = NULL;
	const struct dirent *entry;
	struct stat st;
	size_t i;

	(void)snprintf(path, sizeof(path), "/proc/%ld/fd", (long)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !may_be_device(dirfd(dir), entry->d_name) ||
		    fstatat(dirfd(dir), entry->d_name, &st, 0) < 0)
			continue;
		for (i = 0; i < n; i++) {
			if (same(&targets[i], &st))
				return (int)i;
		}
	}
	return -1;
}

static pid_t parent_of(pid_t pid)
{
	CLEANUP(freep) char *text = NULL;
	char path[PROC_PATH_SIZE];
	const char *at;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	if (file_read_line(AT_FDCWD, path, &text) < 0)
		return 0;
	at = strrchr(text, ')'); /* the command may contain anything */
	if (!at || strlen(at) < 5)
		return 0;
	return (pid_t)strtol(at + 4, NULL, 10); /* ") S 123" */
}

static bool is_ours(pid_t pid)
{
	pid_t self = getpid();
	int i;

	for (i = 0; i < GENERATIONS_MAX && pid > 1; i++) {
		if (pid == self)
			return true;
		pid = parent_of(pid);
	}
	return false;
}

static bool is_allowed(const char *command)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(allowed); i++) {
		if (streq(command, allowed[i]))
			return true;
	}
	return false;
}

static void read_command(pid_t pid, char ret_command[static DEVICE_COMMAND_SIZE])
{
	CLEANUP(freep) char *text = NULL;
	char path[PROC_PATH_SIZE];

	(void)snprintf(path, sizeof(path), "/proc/%ld/comm", (long)pid);
	if (file_read_line(AT_FDCWD, path, &text) < 0)
		text = xstrdup("?");
	(void)snprintf(ret_command, DEVICE_COMMAND_SIZE, "%.31s", text);
}

/* Index of the target that makes it a user of devices, or -1. */
static int use_of(struct device_user *user, const struct target *targets, size_t n)
{
	const int which = held_by(user->pid, targets, n);

	if (which < 0 || is_ours(user->pid))
		return -1;
	read_command(user->pid, user->command);
	return is_allowed(user->command) ? -1 : which;
}

bool device_users_is(char *const *paths, size_t n, pid_t pid)
{
	struct target targets[DEVICE_NODES_MAX];
	struct device_user user = { .pid = pid };

	n = look_up(paths, MIN(n, (size_t)DEVICE_NODES_MAX), targets);
	return pid > 0 && use_of(&user, targets, n) >= 0;
}

void device_users_each(char *const *paths, size_t n,
		       bool (*each)(void *context, const struct device_user *user), void *context)
{
	struct target targets[DEVICE_NODES_MAX];
	CLEANUP(closedirp) DIR *dir = n ? opendir("/proc") : NULL;
	const struct dirent *entry;
	bool more = true;

	n = look_up(paths, MIN(n, (size_t)DEVICE_NODES_MAX), targets);
	while (more && dir && (entry = readdir(dir))) {
		struct device_user user = { .pid = (pid_t)strtol(entry->d_name, NULL, 10) };
		const int which = user.pid > 0 ? use_of(&user, targets, n) : -1;

		if (which < 0)
			continue;
		(void)snprintf(user.device, sizeof(user.device), "%.63s",
			       paths[which] + strlen(paths_sysroot()));
		more = each(context, &user);
	}
}

struct first {
	struct device_user user;
	bool found;
};

static bool take_first(void *context, const struct device_user *user)
{
	struct first *first = context;

	*first = (struct first){ *user, true };
	return false;
}

bool device_user_find(char *const *paths, size_t n, struct device_user *ret)
{
	struct first first = { .found = false };

	device_users_each(paths, n, take_first, &first);
	if (first.found)
		*ret = first.user;
	return first.found;
}
