/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/cgroup.h"

#include <fcntl.h>
#include <stdlib.h>

#include "lib/base/macro.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

enum { CGROUP_TEXT_MAX = 64 * 1024 };

/* The path of our group, from "0::/system.slice/x.service"; "" if none. The caller frees it. */
static char *own_group(const char *root)
{
	CLEANUP(freep) char *path = xasprintf("%s/proc/self/cgroup", root);
	CLEANUP(freep) char *text = NULL;
	const char *at;

	if (file_read(AT_FDCWD, path, CGROUP_TEXT_MAX, &text, NULL, NULL) < 0)
		return xstrdup("");
	at = starts_with(text, "0::") ? text : strstr(text, "\n0::");
	if (!at)
		return xstrdup("");
	at = strstr(at, "0::") + strlen("0::");
	return xstrndup(at, strcspn(at, "\n"));
}

/* What is left in one group. "max" is not a number, so it means no limit. */
static uint64_t left_in(const char *root, const char *group)
{
	CLEANUP(freep) char *max_path = xasprintf("%s/sys/fs/cgroup%s/memory.max", root, group);
	CLEANUP(freep)
	char *now_path = xasprintf("%s/sys/fs/cgroup%s/memory.current", root, group);
	long long max, now;

	if (file_read_i64(AT_FDCWD, max_path, &max) < 0 ||
	    file_read_i64(AT_FDCWD, now_path, &now) < 0)
		return UINT64_MAX;
	return max > now ? (uint64_t)(max - now) : 0;
}

uint64_t cgroup_memory_left(const char *root)
{
	CLEANUP(freep) char *group = own_group(root);
	uint64_t left = UINT64_MAX;
	char *slash;

	while ((slash = strrchr(group, '/'))) {
		left = MIN(left, left_in(root, slash[1] ? group : ""));
		*slash = '\0';
	}
	return left;
}
