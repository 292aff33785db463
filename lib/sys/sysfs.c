/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

enum { SYS_PATH_SIZE = 1024 };

static PRINTF(1, 0) char *path_v(const char *fmt, va_list args)
{
	char path[SYS_PATH_SIZE];

	(void)vsnprintf(path, sizeof(path), fmt, args);
	return xasprintf("%s%s", paths_sysroot(), path);
}

char *sys_path(const char *fmt, ...)
{
	va_list args;
	char *path;

	va_start(args, fmt);
	path = path_v(fmt, args);
	va_end(args);
	return path;
}

char *sys_line(const char *fmt, ...)
{
	CLEANUP(freep) char *path = NULL;
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	path = path_v(fmt, args);
	va_end(args);
	return file_read_line(AT_FDCWD, path, &text) < 0 ? NULL : ascii_clean(text);
}

bool sys_u64(uint64_t *ret_value, const char *fmt, ...)
{
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *text = NULL;
	unsigned long long value;
	char *end = NULL;
	va_list args;

	va_start(args, fmt);
	path = path_v(fmt, args);
	va_end(args);
	if (file_read_line(AT_FDCWD, path, &text) < 0)
		return false;
	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text || *end || text[0] == '-')
		return false;
	*ret_value = value;
	return true;
}

char **sys_list(const char *path, const char *prefix)
{
	CLEANUP(freep) char *full = sys_path("%s", path);
	struct dirent **entries = NULL;
	char **names = NULL;
	int n = scandir(full, &entries, NULL, versionsort), i;
	size_t used = 0;

	if (n < 0)
		return NULL;
	names = xcalloc((size_t)MIN(n, SYS_LIST_MAX) + 1, sizeof(*names));
	for (i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;

		if (name[0] != '.' && starts_with(name, prefix) && used < SYS_LIST_MAX)
			names[used++] = ascii_clean(xstrdup(name));
		free(entries[i]);
	}
	free(entries);
	return names;
}

int cpulist_parse(const char *text, bool *set)
{
	const char *at = text;
	int n = 0;

	while (*at) {
		char *end = NULL;
		unsigned long first, last, i;

		if (*at < '0' || *at > '9')
			return -1;
		first = strtoul(at, &end, 10);
		last = first;
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			last = strtoul(end + 1, &end, 10);
		if (last < first || last >= SYS_CPUS_MAX || (*end && *end != ','))
			return -1;
		for (i = first; i <= last; i++) {
			n += !set[i];
			set[i] = true;
		}
		at = *end ? end + 1 : end;
	}
	return n;
}
