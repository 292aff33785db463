/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/nccl_version.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/hang/hang_ras_version.h"
#include "lib/sys/file.h"

#define LIBRARY "/libnccl.so"
#define DIST_INFO ".dist-info"
/* Path of the library in a wheel: site-packages/nvidia/nccl/lib/libnccl.so.2 */
#define WHEEL "/nvidia/nccl/lib"

enum {
	MAPS_LINES_MAX = 65536,
	ENTRIES_MAX = 65536, /* per site-packages */
};

/* The leading "2.28.9" of `text`. */
static bool take_version(const char *text, char ret[static NCCL_VERSION_SIZE])
{
	const size_t n = strspn(text, "0123456789.");

	if (n == 0 || n >= NCCL_VERSION_SIZE)
		return false;
	memcpy(ret, text, n);
	ret[n] = '\0';
	if (ret[n - 1] == '.')
		ret[n - 1] = '\0';
	return hang_ras_version_number(ret) != 0;
}

/* "nvidia_nccl_cu12-2.28.9.dist-info" */
static bool is_package(const char *name, char ret[static NCCL_VERSION_SIZE])
{
	const char *dash = strchr(name, '-');

	return starts_with(name, "nvidia_nccl_cu") && dash && strstr(dash, DIST_INFO) &&
	       take_version(dash + 1, ret);
}

/* From the Python package that contains the library in `dir`. */
static int from_package(const char *proc, pid_t pid, const char *dir,
			char ret[static NCCL_VERSION_SIZE])
{
	CLEANUP(freep) char *root_path = xasprintf("%s/%lld/root", proc, (long long)pid);
	CLEANUP(closep) int root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	DIR *packages;
	size_t n = 0;
	int fd, r = -ENOENT;

	if (root < 0)
		return -errno;
	fd = file_open_resolved(root, dir, O_RDONLY | O_DIRECTORY | O_NONBLOCK,
				RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	packages = fd < 0 ? NULL : fdopendir(fd);
	if (!packages)
		return fd < 0 ? fd : -ENOMEM;
	while (r < 0 && n++ < ENTRIES_MAX && (entry = readdir(packages)) != NULL) {
		if (is_package(entry->d_name, ret))
			r = 0;
	}
	(void)closedir(packages);
	return r;
}

/* Path in a line of maps, NUL-terminated in place; NULL: not NCCL. */
static char *library_in(char *line)
{
	char *path = strchr(line, '/');

	if (path)
		path[strcspn(path, "\n")] = '\0';
	return path && strstr(path, LIBRARY) ? path : NULL;
}

static int from_path(const char *proc, pid_t pid, char *path, char ret[static NCCL_VERSION_SIZE])
{
	char *slash = strrchr(path, '/');
	size_t n;

	if (!starts_with(slash, LIBRARY))
		return -ENOENT;
	if (starts_with(slash, LIBRARY ".") && take_version(slash + strlen(LIBRARY "."), ret))
		return 0;
	*slash = '\0';
	n = strlen(path);
	if (n <= strlen(WHEEL) || !streq(path + n - strlen(WHEEL), WHEEL))
		return -ENOENT;
	path[n - strlen(WHEEL)] = '\0';
	return from_package(proc, pid, path, ret);
}

int nccl_version_of(const char *proc, pid_t pid, char ret[static NCCL_VERSION_SIZE])
{
	CLEANUP(freep) char *name = xasprintf("%s/%lld/maps", proc, (long long)pid);
	CLEANUP(freep) char *line = NULL;
	char version[NCCL_VERSION_SIZE];
	size_t alloc = 0, n = 0;
	FILE *maps = fopen(name, "re");
	int r = -ENOENT;

	if (!maps)
		return -errno;
	/* The kernel limits paths in these lines to PATH_MAX. */
	while (r == -ENOENT && n++ < MAPS_LINES_MAX && getline(&line, &alloc, maps) > 0) {
		char *path = library_in(line);

		if (path)
			r = from_path(proc, pid, path, version);
	}
	(void)fclose(maps);
	if (r == 0)
		memcpy(ret, version, sizeof(version));
	return r;
}
