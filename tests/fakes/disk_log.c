/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: logs, in order and with their data, the operations of processes
 * on the files under ASSAY_DISK_ROOT, and the program's output to stdout. From
 * this log a test constructs the disks that a power loss could have left at any
 * moment (tests/system/disk.py).
 *
 *	ASSAY_DISK_ROOT    a directory, as realpath prints it
 *	ASSAY_DISK_LOG     the log, an existing file outside of it
 *	ASSAY_DISK_STDOUT  stdout of the program under test, not that of its children
 *	ASSAY_DISK_KILL    that program kills itself right after its n-th operation
 *
 * A record is "OP N1 N2 LEN\n", LEN bytes, "\n". All processes of a run append
 * to the log; an operation and its record are one step, under flock.
 *
 *	C dir inode name   created a file     M dir inode name   created a directory
 *	R dir dir name NUL name   renamed     U dir 0 name       removed a name
 *	W inode offset data  wrote            T inode length     truncated
 *	S inode 0          fsync returned     O 0 0 data         written to stdout
 *
 * For 64-bit systems, where off_t and off64_t are the same.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory entry. */
struct place {
	unsigned long dir; /* inode of its directory */
	char name[NAME_MAX + 1];
	char path[PATH_MAX + NAME_MAX + 2];
};

/* glibc's variants of open(): fortified, and for large files. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir_fd, const char *path, int flags);
int __openat64_2(int dir_fd, const char *path, int flags);

static const char *root, *log_path;
static pid_t program; /* the one under test; its stdout is logged */
static long kill_at, n_done;

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

#define REAL(type, name, ...) (((type)real(name))(__VA_ARGS__))
typedef int open_function(int, const char *, int, ...);
typedef ssize_t write_function(int, const void *, size_t);
typedef ssize_t pwrite_function(int, const void *, size_t, off_t);
typedef int fd_function(int);
typedef int rename_function(int, const char *, int, const char *);
typedef int unlink_function(int, const char *, int);
typedef int mkdir_function(int, const char *, mode_t);
typedef int truncate_function(int, off_t);

static int enter(void)
{
	int fd = root ? REAL(open_function *, "openat", AT_FDCWD, log_path,
			     O_WRONLY | O_APPEND | O_CLOEXEC)
		      : -1;

	if (fd >= 0)
		(void)flock(fd, LOCK_EX);
	return fd;
}

static void leave(int log_fd)
{
	int saved = errno;

	if (log_fd >= 0)
		(void)REAL(fd_function *, "close", log_fd);
	errno = saved;
}

static void put(int log_fd, const void *bytes, size_t len)
{
	if (REAL(write_function *, "write", log_fd, bytes, len) != (ssize_t)len)
		abort();
}

static void record(int log_fd, char op, unsigned long a, unsigned long b, const void *bytes,
		   size_t len)
{
	int saved = errno;
	char head[96];
	int n = snprintf(head, sizeof(head), "%c %lu %lu %zu\n", op, a, b, len);

	put(log_fd, head, (size_t)n);
	put(log_fd, bytes, len);
	put(log_fd, "\n", 1);
	if (getpid() == program && ++n_done == kill_at)
		(void)raise(SIGKILL);
	errno = saved;
}

static bool under_root(const char *path)
{
	size_t len = strlen(root);

	return strncmp(path, root, len) == 0 && (path[len] == '/' || !path[len]);
}

/* Returns false if the path is not under the root. */
static bool find(int dir_fd, const char *path, struct place *ret)
{
	char whole[PATH_MAX], dir[PATH_MAX];
	const char *slash;
	struct stat st;

	if (path[0] == '/' || dir_fd == AT_FDCWD)
		(void)snprintf(whole, sizeof(whole), "%s%s", path[0] == '/' ? "" : "./", path);
	else
		(void)snprintf(whole, sizeof(whole), "/proc/self/fd/%d/%s", dir_fd, path);
	slash = strrchr(whole, '/');
	if (strlen(slash + 1) > NAME_MAX)
		return false;
	(void)snprintf(ret->name, sizeof(ret->name), "%s", slash + 1);
	whole[slash == whole ? 1 : slash - whole] = '\0';
	if (!realpath(whole, dir) || !under_root(dir) || stat(dir, &st) < 0)
		return false;
	ret->dir = st.st_ino;
	(void)snprintf(ret->path, sizeof(ret->path), "%s/%s", dir, ret->name);
	return true;
}

/* Returns the inode of a descriptor, or 0 if it is not under the root. */
static unsigned long inode_of(int fd)
{
	char link[64], path[PATH_MAX];
	struct stat st;
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0 || fstat(fd, &st) < 0)
		return 0;
	path[n] = '\0';
	return under_root(path) ? st.st_ino : 0;
}

static void record_name(int log_fd, char op, const struct place *place)
{
	unsigned long inode = 0;
	struct stat st;

	if (op != 'U' && stat(place->path, &st) == 0)
		inode = st.st_ino;
	record(log_fd, op, place->dir, inode, place->name, strlen(place->name));
}

static int open_and_record(int dir_fd, const char *path, int flags, mode_t mode)
{
	struct place place;
	int log_fd = -1, fd;
	bool ours, existed;

	if (flags & (O_CREAT | O_TRUNC))
		log_fd = enter();
	ours = log_fd >= 0 && find(dir_fd, path, &place);
	existed = ours && access(place.path, F_OK) == 0;
	fd = REAL(open_function *, "openat", dir_fd, path, flags, mode);
	if (ours && fd >= 0 && !existed)
		record_name(log_fd, 'C', &place);
	else if (ours && fd >= 0 && (flags & O_TRUNC))
		record(log_fd, 'T', inode_of(fd), 0, "", 0);
	leave(log_fd);
	return fd;
}

#define OPEN(dir_fd)                                               \
	do {                                                       \
		mode_t mode = 0;                                   \
		va_list more;                                      \
                                                                   \
		va_start(more, flags);                             \
		if (flags & (O_CREAT | __O_TMPFILE))               \
			mode = va_arg(more, mode_t);               \
		va_end(more);                                      \
		return open_and_record(dir_fd, path, flags, mode); \
	} while (0)

int open(const char *path, int flags, ...)
{
	OPEN(AT_FDCWD);
}

int open64(const char *path, int flags, ...)
{
	OPEN(AT_FDCWD);
}

int openat(int dir_fd, const char *path, int flags, ...)
{
	OPEN(dir_fd);
}

int openat64(int dir_fd, const char *path, int flags, ...)
{
	OPEN(dir_fd);
}

int __open_2(const char *path, int flags)
{
	return open_and_record(AT_FDCWD, path, flags, 0);
}

int __open64_2(const char *path, int flags)
{
	return open_and_record(AT_FDCWD, path, flags, 0);
}

int __openat_2(int dir_fd, const char *path, int flags)
{
	return open_and_record(dir_fd, path, flags, 0);
}

int __openat64_2(int dir_fd, const char *path, int flags)
{
	return open_and_record(dir_fd, path, flags, 0);
}

/* Output of the program. stdio bypasses our write(); begin() makes it call this. */
static ssize_t let_go(const void *bytes, size_t len)
{
	int log_fd = enter();
	ssize_t n = REAL(write_function *, "write", STDOUT_FILENO, bytes, len);

	if (log_fd >= 0 && n > 0)
		record(log_fd, 'O', 0, 0, bytes, (size_t)n);
	leave(log_fd);
	return n;
}

static ssize_t let_go_of_stdio(void *cookie, const char *bytes, size_t len)
{
	ssize_t n = let_go(bytes, len);

	(void)cookie;
	return n < 0 ? 0 : n;
}

static ssize_t write_and_record(int fd, const void *bytes, size_t len)
{
	unsigned long inode = root ? inode_of(fd) : 0;
	int log_fd = inode ? enter() : -1;
	ssize_t n = REAL(write_function *, "write", fd, bytes, len);

	if (log_fd >= 0 && n > 0) {
		off_t end = lseek(fd, 0, SEEK_CUR);

		record(log_fd, 'W', inode, (unsigned long)(end - n), bytes, (size_t)n);
	}
	leave(log_fd);
	return n;
}

ssize_t write(int fd, const void *bytes, size_t len)
{
	if (root && fd == STDOUT_FILENO && getpid() == program)
		return let_go(bytes, len);
	return write_and_record(fd, bytes, len);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	unsigned long inode = root ? inode_of(fd) : 0;
	int log_fd = inode ? enter() : -1;
	ssize_t n = REAL(pwrite_function *, "pwrite", fd, bytes, len, at);

	if (log_fd >= 0 && n > 0)
		record(log_fd, 'W', inode, (unsigned long)at, bytes, (size_t)n);
	leave(log_fd);
	return n;
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
	return pwrite(fd, bytes, len, at);
}

int ftruncate(int fd, off_t len)
{
	unsigned long inode = root ? inode_of(fd) : 0;
	int log_fd = inode ? enter() : -1;
	int r = REAL(truncate_function *, "ftruncate", fd, len);

	if (log_fd >= 0 && r == 0)
		record(log_fd, 'T', inode, (unsigned long)len, "", 0);
	leave(log_fd);
	return r;
}

int ftruncate64(int fd, off64_t len)
{
	return ftruncate(fd, len);
}

static int sync_and_record(const char *function, int fd)
{
	unsigned long inode = root ? inode_of(fd) : 0;
	int log_fd = inode ? enter() : -1;
	int r = REAL(fd_function *, function, fd);

	if (log_fd >= 0 && r == 0)
		record(log_fd, 'S', inode, 0, "", 0);
	leave(log_fd);
	return r;
}

int fsync(int fd)
{
	return sync_and_record("fsync", fd);
}

int fdatasync(int fd)
{
	return sync_and_record("fdatasync", fd);
}

int renameat(int old_fd, const char *old, int new_fd, const char *new)
{
	struct place from, to;
	int log_fd = enter();
	bool ours = log_fd >= 0 && find(old_fd, old, &from) && find(new_fd, new, &to);
	int r = REAL(rename_function *, "renameat", old_fd, old, new_fd, new);
	char names[2 * NAME_MAX + 2];

	if (ours && r == 0) {
		int n = snprintf(names, sizeof(names), "%s%c%s", from.name, 0, to.name);

		record(log_fd, 'R', from.dir, to.dir, names, (size_t)n);
	}
	leave(log_fd);
	return r;
}

int rename(const char *old, const char *new)
{
	return renameat(AT_FDCWD, old, AT_FDCWD, new);
}

int unlinkat(int dir_fd, const char *path, int flags)
{
	struct place place;
	int log_fd = enter();
	bool ours = log_fd >= 0 && find(dir_fd, path, &place);
	int r = REAL(unlink_function *, "unlinkat", dir_fd, path, flags);

	if (ours && r == 0)
		record_name(log_fd, 'U', &place);
	leave(log_fd);
	return r;
}

int unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char *path)
{
	return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int mkdirat(int dir_fd, const char *path, mode_t mode)
{
	struct place place;
	int log_fd = enter();
	bool ours = log_fd >= 0 && find(dir_fd, path, &place);
	int r = REAL(mkdir_function *, "mkdirat", dir_fd, path, mode);

	if (ours && r == 0)
		record_name(log_fd, 'M', &place);
	leave(log_fd);
	return r;
}

int mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}

__attribute__((constructor)) static void begin(void)
{
	const char *out = getenv("ASSAY_DISK_STDOUT"), *kill = getenv("ASSAY_DISK_KILL");
	struct stat a, b;

	log_path = getenv("ASSAY_DISK_LOG");
	if (!log_path)
		return;
	root = getenv("ASSAY_DISK_ROOT");
	if (out && stat(out, &a) == 0 && fstat(STDOUT_FILENO, &b) == 0 && a.st_ino == b.st_ino &&
	    a.st_dev == b.st_dev)
		program = getpid();
	kill_at = kill ? strtol(kill, NULL, 10) : 0;
	if (!program)
		return;
	/* The name may be a different file in each process (/proc/self): hide it from children. */
	(void)unsetenv("ASSAY_DISK_STDOUT");
	stdout = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = let_go_of_stdio });
}
