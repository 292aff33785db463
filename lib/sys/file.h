/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole small files: bounded reads, and writes that are complete or absent. Paths are relative to a
 * directory descriptor (or AT_FDCWD), so that tests can pass a fake tree.
 */
#pragma once

#include <dirent.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct strbuf;

/* For CLEANUP(): closes a descriptor unless negative. */
void closep(int *fd);

/* For CLEANUP(): closes a directory unless NULL. */
DEFINE_CLEANUP(DIR *, closedir, closedirp);

/*
 * Reads a whole regular file of at most `limit` bytes into new memory, NUL-terminated; `ret_len`
 * (may be NULL) excludes the NUL. -EFBIG past the limit, -EISDIR, -ENOENT and so on; the message in
 * `err` names `path`.
 */
int file_read(int dir_fd, const char *path, size_t limit, char **ret_text, size_t *ret_len,
	      struct err *err);

/*
 * Reads a one-value file, like those of sysfs: at most 4 KiB, without trailing white space. The
 * usual errno if it is not readable; no message.
 */
int file_read_line(int dir_fd, const char *path, char **ret_text);

/* The same as an integer, decimal or 0x...: -EINVAL if it is not one. */
int file_read_i64(int dir_fd, const char *path, long long *ret_value);

/*
 * Appends what comes from a pipe until its end. -ETIMEDOUT at the monotonic deadline, -EFBIG past
 * the limit of `text`, or the usual errno; no message.
 */
int file_read_until(int fd, uint64_t deadline_us, struct strbuf *text);

/*
 * Replaces `path` by `len` bytes: written to a temporary file beside it, fsynced, renamed, and the
 * directory fsynced. After a power loss, or for a reader, there is the old file or the new one,
 * never a part. Mode 0644 less the umask.
 */
int file_replace(int dir_fd, const char *path, const char *bytes, size_t len, struct err *err);

/*
 * Appends `len` bytes and fsyncs; if the file was empty, its directory too. Creates the file. For
 * logs of whole lines.
 */
int file_append(int dir_fd, const char *path, const char *bytes, size_t len, struct err *err);

/*
 * Creates a directory and its parents, mode 0755 less the umask; 0 if it exists. What it creates
 * survives a power loss: the parent directory is fsynced.
 */
int file_mkdirs(const char *path, struct err *err);

/*
 * Fsyncs every directory above `path` that we may open, so that the names leading to it survive,
 * whoever created them. Call once before a first file; no errors, since nothing more can be done.
 */
void file_sync_above(const char *path);

/*
 * Opens a path that untrusted users chose, or could have changed: openat2(2) with these RESOLVE_
 * flags of <linux/openat2.h>, and O_CLOEXEC. Returns the descriptor, or -errno.
 */
int file_open_resolved(int dir_fd, const char *path, int flags, uint64_t resolve);

/* write(2) until everything is written. */
int file_write_all(int fd, const void *bytes, size_t len);
