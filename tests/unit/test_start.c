/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/sys/start.h"
#include "tests/unit/test.h"

/* What `act` makes of the three descriptors of a process of its own; its exit status. */
static int in_child(int (*act)(unsigned closed), unsigned closed)
{
	int status = -1, fd;
	pid_t pid = fork();

	if (pid == 0) {
		for (fd = 0; fd < 3; fd++) {
			if (closed & 1U << fd)
				(void)close(fd);
		}
		_exit(act(closed));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* 0, or the number of what is wrong. */
static int hold_and_look(unsigned closed)
{
	char byte = 'x';
	int fd;

	start_hold_standard();
	for (fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			return 10 + fd;
	}
	if (closed & 1U && (read(STDIN_FILENO, &byte, 1) != -1 || errno != EBADF))
		return 20;
	for (fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		if (closed & 1U << fd && (write(fd, &byte, 1) != -1 || errno != EBADF))
			return 30 + fd;
	}
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fd > STDERR_FILENO ? 0 : 40;
}

static void no_file_takes_the_place_of_a_closed_descriptor(void)
{
	unsigned closed;

	for (closed = 0; closed < 8; closed++)
		CHECK_EQ(in_child(hold_and_look, closed), 0);
}

static int keeps_what_is_open(unsigned closed UNUSED)
{
	struct stat before, after;
	int fd;

	for (fd = 0; fd < 3; fd++) {
		if (fstat(fd, &before) < 0)
			return 10 + fd;
		start_hold_standard();
		if (fstat(fd, &after) < 0 || before.st_ino != after.st_ino ||
		    before.st_dev != after.st_dev)
			return 20 + fd;
	}
	return 0;
}

static void descriptors_that_are_open_stay_as_they_are(void)
{
	CHECK_EQ(in_child(keeps_what_is_open, 0), 0);
}

static int write_past_the_limit(unsigned closed UNUSED)
{
	const struct rlimit tiny = { 4, 4 };
	char path[] = "/tmp/start-XXXXXX";
	int fd = mkstemp(path), wrong = 0;

	if (fd < 0 || unlink(path) < 0 || setrlimit(RLIMIT_FSIZE, &tiny) < 0)
		return 10;
	(void)signal(SIGXFSZ, SIG_DFL);
	start_program();
	if (write(fd, "1234", 4) != 4)
		wrong = 20;
	else if (write(fd, "5", 1) != -1 || errno != EFBIG)
		wrong = 30;
	(void)close(fd);
	return wrong;
}

static void a_file_too_large_is_an_error_and_not_the_end(void)
{
	CHECK_EQ(in_child(write_past_the_limit, 0), 0);
}

static const struct test tests[] = {
	TEST(no_file_takes_the_place_of_a_closed_descriptor),
	TEST(descriptors_that_are_open_stay_as_they_are),
	TEST(a_file_too_large_is_an_error_and_not_the_end),
};

TEST_SUITE(tests);
