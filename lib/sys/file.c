/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"

enum { LINE_LIMIT = 4096, FIRST_READ = 4096, PIECE = 16 * 1024 };

void closep(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

/* Room for at least one byte and a NUL after `len`. */
static int make_room(char **text, size_t len, size_t *size)
{
	char *grown;

	if (len + 1 < *size)
		return 0;
	*size = *size ? *size * 2 : FIRST_READ;
	grown = realloc(*text, *size);
	if (!grown)
		return -ENOMEM;
	*text = grown;
	return 0;
}

/*
 * Reads to the end into a growing buffer: st_size is wrong for sysfs and procfs files, so it is
 * never used.
 */
static int read_to_end(int fd, size_t limit, char **ret_text, size_t *ret_len)
{
	CLEANUP(freep) char *text = NULL;
	size_t len = 0, size = 0;
	ssize_t n;

	do {
		int r = make_room(&text, len, &size);

		if (r < 0)
			return r;
		n = read(fd, text + len, size - len - 1);
		if (n < 0 && errno != EINTR)
			return -errno;
		len += n > 0 ? (size_t)n : 0;
		if (len > limit)
			return -EFBIG;
	} while (n != 0);
	text[len] = '\0';
	*ret_text = TAKE(text);
	*ret_len = len;
	return 0;
}

static int open_and_read(int dir_fd, const char *path, size_t limit, char **ret_text,
			 size_t *ret_len)
{
	CLEANUP(closep) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return read_to_end(fd, limit, ret_text, ret_len);
}

int file_read(int dir_fd, const char *path, size_t limit, char **ret_text, size_t *ret_len,
	      struct err *err)
{
	size_t len = 0;
	int r = open_and_read(dir_fd, path, limit, ret_text, &len);

	if (r == -EFBIG)
		return err_set(err, EFBIG, "%s: larger than %zu bytes", path, limit);
	if (r == -EINVAL)
		return err_set(err, EINVAL, "%s: not a regular file", path);
	if (r < 0)
		return err_errno(err, -r, "%s", path);
	if (ret_len)
		*ret_len = len;
	return 0;
}

int file_read_until(int fd, uint64_t deadline_us, struct strbuf *text)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char bytes[PIECE];
	ssize_t n;
	int r;

	for (;;) {
		r = poll(&p, 1, clock_left_ms(deadline_us));
		if (r == 0)
			return -ETIMEDOUT;
		n = r < 0 ? -1 : read(fd, bytes, sizeof(bytes));
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && strbuf_add(text, bytes, (size_t)n) < 0)
			return -EFBIG;
	}
}

int file_read_line(int dir_fd, const char *path, char **ret_text)
{
	char *text = NULL;
	size_t len = 0;
	int r = open_and_read(dir_fd, path, LINE_LIMIT, &text, &len);

	if (r < 0)
		return r;
	while (len && strchr(" \t\r\n", text[len - 1]))
		text[--len] = '\0';
	*ret_text = text;
	return 0;
}

int file_read_i64(int dir_fd, const char *path, long long *ret_value)
{
	CLEANUP(freep) char *text = NULL;
	int r = file_read_line(dir_fd, path, &text);
	char *end = NULL;
	long long value;

	if (r < 0)
		return r;
	errno = 0;
	value = strtoll(text, &end, starts_with(text, "0x") ? 16 : 10);
	if (errno || end == text || *end)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

int file_write_all(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int sync_parent(int dir_fd, const char *path)
{
	CLEANUP(freep) char *copy = xstrdup(path);
	CLEANUP(closep) int fd = openat(dir_fd, dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fsync(fd) < 0 ? -errno : 0;
}

static int write_and_sync(int fd, const char *bytes, size_t len)
{
	int r = file_write_all(fd, bytes, len);

	if (r < 0)
		return r;
	return fsync(fd) < 0 ? -errno : 0;
}

/*
 * A pid is not unique: a container and its host have the same ones, and may share the directory.
 * Never writes into an existing file.
 */
static char *temporary_of(const char *path)
{
	return xasprintf("%s.%ld-%08x.tmp", path, (long)getpid(), (unsigned)random_u64());
}

int file_replace(int dir_fd, const char *path, const char *bytes, size_t len, struct err *err)
{
	CLEANUP(freep) char *temporary = temporary_of(path);
	CLEANUP(closep) int fd = -1;
	int r;

	fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return err_errno(err, errno, "cannot write %s", path);
	r = write_and_sync(fd, bytes, len);
	if (r == 0 && renameat(dir_fd, temporary, dir_fd, path) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlinkat(dir_fd, temporary, 0);
		return err_errno(err, -r, "cannot write %s", path);
	}
	r = sync_parent(dir_fd, path);
	return r < 0 ? err_errno(err, -r, "cannot sync the directory of %s", path) : 0;
}

int file_append(int dir_fd, const char *path, const char *bytes, size_t len, struct err *err)
{
	CLEANUP(closep) int fd = -1;
	struct stat st;
	int r;

	fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return err_errno(err, errno, "cannot write %s", path);
	r = fstat(fd, &st) < 0 ? -errno : write_and_sync(fd, bytes, len);
	/* The file may be new: its name must survive too. */
	if (r == 0 && st.st_size == 0)
		r = sync_parent(dir_fd, path);
	return r < 0 ? err_errno(err, -r, "cannot append to %s", path) : 0;
}

static int make_dir(const char *path, struct err *err)
{
	struct stat st;
	int r;

	if (mkdir(path, 0755) == 0) {
		/* Otherwise a power loss would remove it with everything synced in it. */
		r = sync_parent(AT_FDCWD, path);
		return r < 0 ? err_errno(err, -r, "cannot sync the directory of %s", path) : 0;
	}
	if (errno != EEXIST)
		return err_errno(err, errno, "cannot make directory %s", path);
	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return err_errno(err, ENOTDIR, "cannot make directory %s", path);
	return 0;
}

int file_mkdirs(const char *path, struct err *err)
{
	CLEANUP(freep) char *copy = xstrdup(path);
	char *at;

	for (at = copy + 1; *at; at++) {
		int r;

		if (*at != '/')
			continue;
		*at = '\0';
		r = make_dir(copy, err);
		if (r < 0)
			return r;
		*at = '/';
	}
	return make_dir(copy, err);
}

void file_sync_above(const char *path)
{
	CLEANUP(freep) char *copy = xstrdup(path);
	char *above = copy;

	do {
		CLEANUP(closep) int fd = -1;

		above = dirname(above);
		fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			(void)fsync(fd);
	} while (!streq(above, "/") && !streq(above, "."));
}

int file_open_resolved(int dir_fd, const char *path, int flags, uint64_t resolve)
{
	const struct open_how how = { .flags = (uint64_t)(unsigned)flags | O_CLOEXEC,
				      .resolve = resolve };
	const long fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}
