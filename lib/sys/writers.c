/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/writers.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

/* user_namespaces(7): the initial namespace maps all 32 bits to themselves. */
static bool in_user_namespace(void)
{
	static const unsigned long whole[] = { 0, 0, 4294967295UL };
	CLEANUP(freep) char *line = NULL;
	const char *at;
	size_t i;

	if (file_read_line(AT_FDCWD, "/proc/self/uid_map", &line) < 0)
		return false; /* a kernel without them */
	at = line;
	for (i = 0; i < ARRAY_SIZE(whole); i++) {
		char *end = NULL;

		if (strtoul(at, &end, 10) != whole[i] || end == at)
			return true;
		at = end;
	}
	return false;
}

static bool is_trusted(uid_t uid)
{
	long long overflow = 0;

	return uid == 0 || uid == geteuid() ||
	       (file_read_i64(AT_FDCWD, "/proc/sys/kernel/overflowuid", &overflow) == 0 &&
		uid == (uid_t)overflow && in_user_namespace());
}

static int check(const char *path, struct err *err)
{
	struct stat st;
	unsigned open;

	if (stat(path, &st) < 0)
		return err_errno(err, errno, "cannot look at %s", path);
	open = st.st_mode & (S_IWGRP | S_IWOTH);
	if (S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX)
		open = 0;
	if (!is_trusted(st.st_uid))
		return err_set(err, EACCES,
			       "%s belongs to user %u, who may change it: chown root %s", path,
			       (unsigned)st.st_uid, path);
	if (open)
		return err_set(err, EACCES, "%s can be changed by %s: chmod go-w %s", path,
			       open & S_IWOTH ? "everybody" : "its group", path);
	return 0;
}

/* Whoever can write to a directory above can replace the tree below. */
static int check_above(const char *path, struct err *err)
{
	CLEANUP(freep) char *copy = xstrdup(path);
	char *at = copy;
	int r;

	do {
		at = dirname(at);
		r = check(at, err);
	} while (r == 0 && !streq(at, "/") && !streq(at, "."));
	return r;
}

int writers_check(const char *path, struct err *err)
{
	CLEANUP(freep) char *real = NULL;
	int r = check(path, err);

	if (r == 0)
		r = check_above(path, err);
	if (r < 0)
		return r;
	/* By the name given, and by where that leads. */
	real = realpath(path, NULL);
	return real ? check_above(real, err) : err_errno(err, errno, "cannot look at %s", path);
}
