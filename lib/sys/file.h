/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole small files: bounded reads, writes that are either whole or absent.
 * Paths are relative to a directory descriptor (AT_FDCWD works), so that tests
 * hand in a fake tree.
 */
#pragma once

#include <dirent.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct strbuf;

/* For CLEANUP(): close a descriptor unless negative. */
void closep(int *fd);

/* For CLEANUP(): close a directory unless NULL. */
DEFINE_CLEANUP(DIR *, closedir, closedirp);

/*
 * Read a whole regular file of at most `limit` bytes into new memory, NUL
 * terminated; `ret_len` (may be NULL) without the NUL. -EFBIG past the limit,
 * -EISDIR, -ENOENT and the like; the sentence in `err` names `path`.
 */
int file_read(int dir_fd, const char *path, size_t limit, char **ret_text, size_t *ret_len,
	      struct err *err);

/*
 * Read a one-value file such as those of sysfs: at most 4 KiB, trailing white
 * space cut. The usual errno when it cannot be read; no sentence.
 */
int file_read_line(int dir_fd, const char *path, char **ret_text);

/* The same as a whole number in base 10 or 0x...: -EINVAL when it is none. */
int file_read_i64(int dir_fd, const char *path, long long *ret_value);

/*
 * Append what comes from a pipe until its end. -ETIMEDOUT at the monotonic deadline, -EFBIG past
 * the limit of `text`, and the usual errno; no sentence.
 */
int file_read_until(int fd, uint64_t deadline_us, struct strbuf *text);

/*
 * Replace `path` by `len` bytes: written to a temporary beside it, fsync'ed,
 * renamed, the directory fsync'ed. A reader or a power loss sees the old file
 * or the new one, never a part. Mode 0644 less the umask.
 */
int file_replace(int dir_fd, const char *path, const char *bytes, size_t len, struct err *err);

/*
 * Append `len` bytes and fsync, of an empty file the directory too; makes the
 * file. For logs of whole lines.
 */
int file_append(int dir_fd, const char *path, const char *bytes, size_t len, struct err *err);

/*
 * Make a directory and its parents, mode 0755 less the umask; 0 when there.
 * What it made outlasts a power loss: the directory above is fsync'ed.
 */
int file_mkdirs(const char *path, struct err *err);

/*
 * fsync every directory above `path` that we may open, so that the names on
 * the way to it last, whoever made them. Once before a first file; no error,
 * for nothing more can be done.
 */
void file_sync_above(const char *path);

/*
 * Open a path that strangers chose, or could have changed: openat2(2) with these RESOLVE_ flags of
 * <linux/openat2.h>, and O_CLOEXEC. The descriptor, or -errno.
 */
int file_open_resolved(int dir_fd, const char *path, int flags, uint64_t resolve);

/* write(2) until all is written. */
int file_write_all(int fd, const void *bytes, size_t len);
