/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a probe, and the state of the runner's process that must not change. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/run/runner.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/lock.h"
#include "tests/unit/runner_fixture.h"
#include "tests/unit/test.h"

static void run(const struct runner_probe *probes, size_t n, const struct runner_options *options,
		struct report *ret)
{
	struct err err = ERR_INIT;

	*ret = (struct report){ 0 };
	CHECK_EQ(runner_run(probes, n, options, ret, &err), 0);
	CHECK_EQ(fixture_alive(), 0);
}

/* --- the probe ------------------------------------------------------------------- */

static void a_probe_is_given_its_arguments_its_environment_and_nothing_else(void)
{
	CLEANUP(freep)
	char *path = fixture_script("probes/given",
				    "{ printf '%s ' \"$@\"\n"
				    "echo $LC_ALL ${ASSAY_LOCK_HELD-none} $KEPT\n"
				    "wc -c\n"
				    "ls /proc/self/fd | wc -l; } >\"$GIVEN\"\n" SAY);
	CLEANUP(freep) char *out = test_file("given", "");
	char option[] = "--cells", value[] = "a b";
	char *const args[] = { option, value, NULL };
	struct runner_probe probe = {
		.name = "given", .path = path, .args = args, .budget_us = 4 * USEC_PER_SEC
	};
	struct runner_options options = fixture_options();
	int leaked = open("/dev/null", O_RDONLY); /* without O_CLOEXEC, as libraries do */
	int i;

	CHECK(leaked >= 0);
	(void)setenv("GIVEN", out, 1);
	(void)setenv("KEPT", "kept", 1);
	(void)setenv("LC_ALL", "de_DE.UTF-8", 1);
	for (i = 0; i < 2; i++) {
		CLEANUP(freep) char *text = NULL;
		struct report report;

		probe.active = i == 1;
		options.run_busy = i == 1;
		run(&probe, 1, &options, &report);
		CHECK_EQ(report.n_problems, 0);
		CHECK_EQ(report.n_samples, 1);
		CHECK_EQ(file_read(AT_FDCWD, out, 4096, &text, NULL, NULL), 0);
		/* nothing on stdin; stdin, stdout, stderr and the directory of ls */
		CHECK_STR(text, i ? "--cells a b --budget 4s --busy run C 1 kept\n0\n4\n"
				  : "--cells a b --budget 4s --busy skip C none kept\n0\n4\n");
		report_release(&report);
	}
	(void)unsetenv("LC_ALL");
	(void)close(leaked);
}

/* --- our own process ---------------------------------------------------------------------- */

struct seen {
	size_t calls, last_done;
	bool named, in_order, at_end;
};

static void see(void *context, const struct runner_progress *p)
{
	struct seen *seen = context;

	seen->calls++;
	seen->in_order &= p->done >= seen->last_done && p->total == 2 && !seen->at_end;
	seen->last_done = p->done;
	seen->named |= streq(p->probe, "a") && p->probe_left_us > 0 && p->run_left_us > 0;
	seen->at_end = !p->probe && p->done == 2;
}

static void progress_names_the_probe_that_runs_and_tells_the_end(void)
{
	CLEANUP(freep) char *path = fixture_script("probes/ok", SAY);
	struct runner_probe probes[] = {
		{ .name = "p", .path = path, .budget_us = LONG_US },
		{ .name = "a", .path = path, .budget_us = LONG_US, .active = true },
	};
	struct runner_options options = fixture_options();
	struct seen seen = { .in_order = true };
	struct report report;

	options.progress = see;
	options.progress_context = &seen;
	run(probes, ARRAY_SIZE(probes), &options, &report);
	CHECK(seen.named && seen.in_order && seen.at_end);
	CHECK(seen.calls >= 2);
	report_release(&report);
}

static volatile sig_atomic_t caught;

static void catch (int number UNUSED)
{
	caught++;
}

static void signals_descriptors_and_children_of_the_caller_are_left_alone(void)
{
	static const struct {
		void (*handler)(int);
		bool blocked;
	} rows[] = { { SIG_DFL, false },
		     { SIG_IGN, false },
		     { catch, false },
		     { SIG_DFL, true },
		     { SIG_IGN, true } };
	size_t fds = fixture_open_fds(), i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sigaction action = { .sa_handler = rows[i].handler }, now;
		sigset_t chld, mask;
		struct report report;

		(void)sigemptyset(&chld);
		(void)sigaddset(&chld, SIGCHLD);
		(void)sigprocmask(rows[i].blocked ? SIG_BLOCK : SIG_UNBLOCK, &chld, NULL);
		CHECK_EQ(sigaction(SIGCHLD, &action, NULL), 0);
		fixture_run(SAY "(sleep 1000 &)\nexit 3\n", LONG_US, &report);
		CHECK_EQ(report.n_samples, 1);
		CHECK_EQ(report.n_problems, 1);
		CHECK_STR(report.problems[0].detail, "exit status 3");
		CHECK_EQ(sigaction(SIGCHLD, NULL, &now), 0);
		CHECK(now.sa_handler == rows[i].handler);
		(void)sigprocmask(SIG_BLOCK, NULL, &mask);
		CHECK_EQ(sigismember(&mask, SIGCHLD), rows[i].blocked);
		CHECK_EQ(sigismember(&mask, SIGTERM), 0);
		CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
		CHECK_EQ(fixture_open_fds(), fds);
		report_release(&report);
	}
	CHECK_EQ(caught, 0);
	(void)signal(SIGCHLD, SIG_DFL);
}

/* 32 and 33 belong to the C library, which lets nobody change them. */
#define LIBC_SIGNALS (UINT64_C(3) << 31)

static void a_probe_starts_with_no_signal_blocked_or_ignored(void)
{
	unsigned long long blocked, ignored;
	struct sigaction before;
	struct report report;
	sigset_t some, old;
	char *at;

	(void)sigemptyset(&some);
	(void)sigaddset(&some, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &some, &old);
	(void)sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, &before);
	fixture_run(
		"sed -n 's/^Sig\\(Blk\\|Ign\\):[[:space:]]*//p' /proc/self/status >&2\nexit 3\n",
		LONG_US, &report);
	(void)sigaction(SIGPIPE, &before, NULL);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
	CHECK_EQ(report.n_problems, 1);
	blocked = strtoull(report.problems[0].err_tail, &at, 16);
	ignored = strtoull(at, &at, 16);
	CHECK_STR(at, "");
	CHECK_EQ(blocked, 0);
	CHECK_EQ(ignored & ~LIBC_SIGNALS, 0);
	report_release(&report);
}

static void run_for_ever(void)
{
	CLEANUP(freep)
	char *path = fixture_script(
		"probes/ever",
		"trap '' TERM HUP INT\n"
		"[ \"$1\" = grandchild ] && echo x >\"$STARTED\" && exec sleep 1000\n"
		"setsid sh -c 'setsid \"$0\" grandchild & sleep 1000' \"$0\" &\n"
		"wait\n");
	struct runner_probe probe = {
		.name = "a", .path = path, .budget_us = LONG_US, .active = true
	};
	struct runner_options options = fixture_options();
	struct report report = { 0 };

	(void)runner_run(&probe, 1, &options, &report, NULL);
	_exit(0);
}

static void a_runner_that_is_killed_leaves_no_orphan_and_no_lock(void)
{
	CLEANUP(freep) char *lock = xasprintf("%s/active.lock", test_dir());
	CLEANUP(closep) int started = fixture_fifo("STARTED");
	CLEANUP(closep) int after = -1;
	struct pollfd p = { .fd = started, .events = POLLIN };
	pid_t pid = fork();

	if (pid == 0)
		run_for_ever();
	CHECK_EQ(poll(&p, 1, clock_left_ms(clock_mono_us() + LONG_US)), 1);
	CHECK(fixture_alive() >= 3);
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(lock_take(lock, clock_mono_us() + LONG_US, &after, NULL), 0);
	CHECK_EQ(fixture_alive(), 0); /* the lock is held until they are gone */
}

static const struct test tests[] = {
	TEST(a_probe_is_given_its_arguments_its_environment_and_nothing_else),
	TEST(progress_names_the_probe_that_runs_and_tells_the_end),
	TEST(signals_descriptors_and_children_of_the_caller_are_left_alone),
	TEST(a_probe_starts_with_no_signal_blocked_or_ignored),
	TEST(a_runner_that_is_killed_leaves_no_orphan_and_no_lock),
};

TEST_SUITE(tests);
