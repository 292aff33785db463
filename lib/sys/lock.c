/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

/*
 * inotify reports the holder's close slightly before the kernel releases the lock, and an explicit
 * LOCK_UN not at all; so check again at least this often.
 */
enum { LOCK_LOOK_AGAIN_MS = 50, LOCK_NOTE_SIZE = 64, LOCK_MODE = 0600 };

static bool try_lock(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static bool wait_lock(int fd, const char *path, uint64_t deadline_us)
{
	CLEANUP(closep) int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct pollfd p = { .fd = watch, .events = POLLIN };
	char events[1024];

	if (watch >= 0)
		(void)inotify_add_watch(watch, path, IN_CLOSE);
	for (;;) {
		int left_ms;

		if (try_lock(fd))
			return true;
		left_ms = clock_left_ms(deadline_us);
		if (left_ms == 0)
			return false;
		if (poll(&p, 1, MIN(left_ms, (int)LOCK_LOOK_AGAIN_MS)) > 0)
			(void)!read(watch, events, sizeof(events));
	}
}

/* The holder: the note that lock_take() leaves in the file. Only for messages. */
static void read_holder(int fd, char ret_note[static LOCK_NOTE_SIZE])
{
	ssize_t n = pread(fd, ret_note, LOCK_NOTE_SIZE - 1, 0);

	ret_note[n > 0 ? n : 0] = '\0';
	ret_note[strcspn(ret_note, "\n")] = '\0';
}

static void write_holder(int fd)
{
	char note[LOCK_NOTE_SIZE];
	int n = snprintf(note, sizeof(note), "pid %ld (%.32s)\n", (long)getpid(),
			 program_invocation_short_name);

	if (ftruncate(fd, 0) == 0)
		(void)!pwrite(fd, note, MIN((size_t)n, sizeof(note) - 1), 0);
}

/* Only for its owner, even if it already existed: whoever can read a file can lock it forever. */
static int open_lock(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, LOCK_MODE);

	if (fd >= 0)
		(void)fchmod(fd, LOCK_MODE);
	return fd;
}

int lock_take(const char *path, uint64_t deadline_us, int *ret_fd, struct err *err)
{
	CLEANUP(closep) int fd = open_lock(path);
	char holder[LOCK_NOTE_SIZE];

	if (fd < 0)
		return err_errno(err, errno, "cannot open lock %s", path);
	if (!try_lock(fd) && !wait_lock(fd, path, deadline_us)) {
		read_holder(fd, holder);
		return err_set(err, ETIMEDOUT, "lock %s is held by %s", path,
			       holder[0] ? holder : "another process");
	}
	write_holder(fd);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

bool lock_held_for_us(void)
{
	return streq(secure_getenv("ASSAY_LOCK_HELD"), "1");
}
