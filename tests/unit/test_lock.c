/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/lock.h"
#include "tests/unit/test.h"

#define LONG_US (60 * USEC_PER_SEC) /* a deadline that only a fault reaches */

static char *lock_path(void)
{
	return xasprintf("%s/active.lock", test_dir());
}

/* A child that takes the lock, says so, and holds it until its pipe ends or it is killed. */
struct holder {
	pid_t pid;
	int tell_fd;
};

static void hold(const char *path, int said_fd, int wait_fd)
{
	CLEANUP(closep) int lock = -1;
	char byte = 0;

	if (lock_take(path, clock_mono_us() + LONG_US, &lock, NULL) < 0)
		_exit(1);
	if (write(said_fd, "x", 1) != 1)
		_exit(1);
	(void)!read(wait_fd, &byte, 1);
	_exit(0);
}

static struct holder start_holder(const char *path)
{
	int said[2], wait[2];
	struct holder h;
	char byte;

	if (pipe2(said, O_CLOEXEC) < 0 || pipe2(wait, O_CLOEXEC) < 0)
		abort();
	h.pid = fork();
	if (h.pid == 0) {
		(void)close(wait[1]);
		hold(path, said[1], wait[0]);
	}
	(void)close(said[1]);
	(void)close(wait[0]);
	CHECK_EQ(read(said[0], &byte, 1), 1);
	(void)close(said[0]);
	h.tell_fd = wait[1];
	return h;
}

static void end_holder(struct holder *h)
{
	(void)close(h->tell_fd);
	CHECK_EQ(waitpid(h->pid, NULL, 0), h->pid);
}

static void a_free_lock_is_taken_at_once(void)
{
	CLEANUP(freep) char *path = lock_path();
	CLEANUP(closep) int fd = -1;

	CHECK_EQ(lock_take(path, 0, &fd, NULL), 0);
	CHECK(fd >= 0);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void two_descriptors_of_one_process_exclude_each_other(void)
{
	CLEANUP(freep) char *path = lock_path();
	CLEANUP(closep) int first = -1;
	CLEANUP(closep) int second = -1;

	CHECK_EQ(lock_take(path, 0, &first, NULL), 0);
	CHECK_EQ(lock_take(path, 0, &second, NULL), -ETIMEDOUT);
	CHECK_EQ(second, -1);
	closep(&first);
	first = -1;
	CHECK_EQ(lock_take(path, 0, &second, NULL), 0);
}

static void at_the_deadline_the_holder_is_named(void)
{
	CLEANUP(freep) char *path = lock_path();
	struct holder h = start_holder(path);
	CLEANUP(freep) char *pid = xasprintf("is held by pid %ld (", (long)h.pid);
	uint64_t start_us = clock_mono_us();
	struct err err = ERR_INIT;
	int fd = -1;

	CHECK_EQ(lock_take(path, start_us + 100 * USEC_PER_MSEC, &fd, &err), -ETIMEDOUT);
	CHECK(clock_mono_us() - start_us >= 100 * USEC_PER_MSEC);
	CHECK_EQ(fd, -1);
	CHECK_HAS(err.msg, pid);
	CHECK_HAS(err.msg, program_invocation_short_name);
	end_holder(&h);
}

static void it_is_taken_when_the_holder_lets_go(void)
{
	CLEANUP(freep) char *path = lock_path();
	struct holder h = start_holder(path);
	CLEANUP(closep) int fd = -1;

	(void)close(h.tell_fd); /* it wakes and ends while we wait */
	CHECK_EQ(lock_take(path, clock_mono_us() + LONG_US, &fd, NULL), 0);
	CHECK_EQ(waitpid(h.pid, NULL, 0), h.pid);
}

static void a_killed_holder_leaves_nothing_locked(void)
{
	unsigned i;

	for (i = 0; i < 20; i++) {
		CLEANUP(freep) char *path = lock_path();
		struct holder h = start_holder(path);
		CLEANUP(closep) int fd = -1;

		CHECK_EQ(kill(h.pid, SIGKILL), 0);
		CHECK_EQ(lock_take(path, clock_mono_us() + LONG_US, &fd, NULL), 0);
		end_holder(&h);
	}
}

/* Four processes count in one file, one step a turn under the lock. */
static void count_up(const char *lock, const char *counter, unsigned steps)
{
	unsigned i;

	for (i = 0; i < steps; i++) {
		CLEANUP(closep) int fd = -1;
		long long n = 0;
		char text[32];

		if (lock_take(lock, clock_mono_us() + LONG_US, &fd, NULL) < 0 ||
		    file_read_i64(AT_FDCWD, counter, &n) < 0)
			_exit(1);
		(void)snprintf(text, sizeof(text), "%lld\n", n + 1);
		if (file_replace(AT_FDCWD, counter, text, strlen(text), NULL) < 0)
			_exit(1);
	}
	_exit(0);
}

static void one_holder_at_a_time(void)
{
	CLEANUP(freep) char *path = lock_path();
	CLEANUP(freep) char *counter = test_file("counter", "0\n");
	pid_t children[4];
	long long n = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(children); i++) {
		children[i] = fork();
		if (children[i] == 0)
			count_up(path, counter, 25);
	}
	for (i = 0; i < ARRAY_SIZE(children); i++) {
		int status = -1;

		CHECK_EQ(waitpid(children[i], &status, 0), children[i]);
		CHECK_EQ(status, 0);
	}
	CHECK_EQ(file_read_i64(AT_FDCWD, counter, &n), 0);
	CHECK_EQ(n, 100);
}

static void a_lock_that_cannot_be_opened_says_why(void)
{
	CLEANUP(freep) char *target = test_file("target", "");
	CLEANUP(freep) char *link = xasprintf("%s/link", test_dir());
	struct err err = ERR_INIT;
	int fd = -1;

	CHECK_EQ(lock_take("/nowhere/lock", 0, &fd, &err), -ENOENT);
	CHECK_STR(err.msg, "cannot open lock /nowhere/lock: No such file or directory");
	CHECK_EQ(symlink(target, link), 0);
	CHECK_EQ(lock_take(link, 0, &fd, &err), -ELOOP);
	CHECK_EQ(fd, -1);
}

static void who_started_us_may_hold_it_for_us(void)
{
	(void)unsetenv("ASSAY_LOCK_HELD");
	CHECK(!lock_held_for_us());
	(void)setenv("ASSAY_LOCK_HELD", "1", 1);
	CHECK(lock_held_for_us());
	(void)setenv("ASSAY_LOCK_HELD", "0", 1);
	CHECK(!lock_held_for_us());
	(void)unsetenv("ASSAY_LOCK_HELD");
}

/* Whoever may open it may lock it. */
static void the_file_is_for_its_owner_alone(void)
{
	static const mode_t masks[] = { 0, 022, 077 };
	CLEANUP(freep) char *path = lock_path();
	struct stat st;
	size_t i;

	for (i = 0; i < 2 * ARRAY_SIZE(masks); i++) {
		CLEANUP(closep) int lock = -1;
		mode_t before;

		if (i < ARRAY_SIZE(masks))
			(void)unlink(path);
		else
			CHECK_EQ(chmod(path, 0666), 0);
		before = umask(masks[i % ARRAY_SIZE(masks)]);
		CHECK_EQ(lock_take(path, 0, &lock, NULL), 0);
		(void)umask(before);
		CHECK_EQ(stat(path, &st), 0);
		CHECK_EQ(st.st_mode & 0777, 0600);
	}
}

static const struct test tests[] = {
	TEST(the_file_is_for_its_owner_alone),
	TEST(a_free_lock_is_taken_at_once),
	TEST(two_descriptors_of_one_process_exclude_each_other),
	TEST(at_the_deadline_the_holder_is_named),
	TEST(it_is_taken_when_the_holder_lets_go),
	TEST(a_killed_holder_leaves_nothing_locked),
	TEST(one_holder_at_a_time),
	TEST(a_lock_that_cannot_be_opened_says_why),
	TEST(who_started_us_may_hold_it_for_us),
};

TEST_SUITE(tests);
