/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/process_tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "tests/unit/test.h"

#define LONG_US (30 * USEC_PER_SEC)

/* What a subreaper, a process of its own as every supervisor is, found. */
struct found {
	int first, second; /* results of process_tree_end() */
	struct process_tree named, gone;
};

/* Closes `ready` once it has its name. */
static _Noreturn void be_sleep(int ready)
{
	(void)prctl(PR_SET_NAME, "a) S 1 (sleeper");
	(void)close(ready);
	for (;;)
		(void)pause();
}

/* A tree of `n` sleeping children, each in a session of its own; returns when all have their name. */
static void grow_tree(struct process_tree *d, size_t n)
{
	int ends[2];
	char byte;
	size_t i;

	(void)!pipe(ends);
	for (i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			(void)setsid();
			be_sleep(ends[1]);
		}
		if (i == 0)
			d->main = pid;
	}
	(void)close(ends[1]);
	(void)!read(ends[0], &byte, 1);
	(void)close(ends[0]);
}

static _Noreturn void be_subreaper(size_t children, int out)
{
	struct process_tree d = { 0 };
	struct found found;
	sigset_t chld;
	int signal_fd;

	(void)setsid();
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	(void)sigemptyset(&chld);
	(void)sigaddset(&chld, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &chld, NULL);
	signal_fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	grow_tree(&d, children);
	found.first = process_tree_end(&d, signal_fd, clock_mono_us()); /* no time to die in */
	found.named = d;
	found.second = process_tree_end(&d, signal_fd, clock_mono_us() + LONG_US);
	found.gone = d;
	(void)!write(out, &found, sizeof(found));
	_exit(0);
}

static void end_tree(size_t children, struct found *ret)
{
	int ends[2];
	pid_t pid;

	CHECK_EQ(pipe(ends), 0);
	pid = fork();
	if (pid == 0)
		be_subreaper(children, ends[1]);
	(void)close(ends[1]);
	CHECK_EQ(read(ends[0], ret, sizeof(*ret)), sizeof(*ret));
	(void)close(ends[0]);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static void without_descendants_there_is_nothing_to_do(void)
{
	struct found found;

	end_tree(0, &found);
	CHECK_EQ(found.first, 0);
	CHECK_EQ(found.named.left, 0);
	CHECK(!found.named.main_gone);
}

static void one_that_does_not_die_in_time_is_named_whatever_its_name_holds(void)
{
	struct found found;

	end_tree(1, &found);
	CHECK_EQ(found.first, -EBUSY);
	CHECK_EQ(found.named.left, found.named.main);
	CHECK_STR(found.named.left_name, "a) S 1 (sleeper");
	CHECK(strchr("RSDtXZ", found.named.left_state));
}

static void all_are_gone_in_the_end_and_the_status_is_that_of_the_first(void)
{
	struct found found;

	end_tree(50, &found);
	CHECK_EQ(found.first, -EBUSY);
	CHECK_EQ(found.second, 0);
	CHECK_EQ(found.gone.left, 0);
	CHECK(found.gone.main_gone);
	CHECK(WIFSIGNALED(found.gone.status));
	CHECK_EQ(WTERMSIG(found.gone.status), SIGKILL);
}

static const struct test tests[] = {
	TEST(without_descendants_there_is_nothing_to_do),
	TEST(one_that_does_not_die_in_time_is_named_whatever_its_name_holds),
	TEST(all_are_gone_in_the_end_and_the_status_is_that_of_the_first),
};

TEST_SUITE(tests);
