/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduling: order, concurrency, the lock, giving way, what a probe is given. */
#include "agents/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/err.h"
#include "lib/file.h"
#include "lib/lock.h"
#include "lib/xalloc.h"
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

static void no_probes_give_an_empty_report(void)
{
	struct runner_options options = fixture_options();
	struct report report;

	run(NULL, 0, &options, &report);
	CHECK_EQ(report.n_samples, 0);
	CHECK_EQ(report.n_problems, 0);
	report_release(&report);
}

static void more_probes_than_the_limit_are_refused(void)
{
	struct runner_probe probes[RUNNER_PROBES_MAX + 1] = { { 0 } };
	struct runner_options options = fixture_options();
	struct report report = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(runner_run(probes, ARRAY_SIZE(probes), &options, &report, &err), -E2BIG);
	CHECK_STR(err.msg, "65 probes, more than 64");
}

/* --- what a probe is given -------------------------------------------------------- */

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

static void the_budget_of_the_run_cuts_that_of_a_probe(void)
{
	CLEANUP(freep)
	char *path = fixture_script("probes/long", "echo \"$2\" >&2\nexec sleep 1000\n");
	struct runner_probe probe = { .name = "long", .path = path, .budget_us = USEC_PER_HOUR };
	struct runner_options options = fixture_options();
	uint64_t told_us = 0;
	struct report report;

	options.deadline_us = clock_mono_us() + 600 * USEC_PER_MSEC;
	run(&probe, 1, &options, &report);
	CHECK_EQ(report.n_problems, 1);
	CHECK_EQ(report.problems[0].code, PROBLEM_TIMEOUT);
	CHECK_EQ(duration_parse(report.problems[0].err_tail, &told_us, NULL), 0);
	CHECK(told_us > 0 && told_us < 600 * USEC_PER_MSEC);
	report_release(&report);
}

static void no_probe_starts_after_the_end_of_the_run(void)
{
	CLEANUP(freep) char *path = fixture_script("probes/late", SAY);
	struct runner_probe probes[] = {
		{ .name = "late", .path = path, .budget_us = USEC_PER_SEC },
		{ .name = "later", .path = path, .budget_us = USEC_PER_SEC, .active = true },
	};
	struct runner_options options = fixture_options();
	struct report report;

	options.deadline_us = clock_mono_us();
	run(probes, ARRAY_SIZE(probes), &options, &report);
	CHECK_EQ(report.n_samples, 0);
	CHECK_EQ(report.n_problems, 2);
	CHECK_EQ(report.problems[0].code, PROBLEM_TIMEOUT);
	CHECK_STR(report.problems[1].detail, "not started: the time of the run was over");
	report_release(&report);
}

/* --- order and concurrency ---------------------------------------------------------- */

static void passive_probes_run_together_and_report_in_their_order(void)
{
	/* each waits for the other: one after another they would never end */
	CLEANUP(freep)
	char *one = fixture_script("probes/one",
				   "echo x >\"$FIFO_A\"; read y <\"$FIFO_B\"\n" SAY "exit 3\n");
	CLEANUP(freep)
	char *two = fixture_script("probes/two",
				   "read y <\"$FIFO_A\"; echo x >\"$FIFO_B\"\n"
				   "printf '%s\\n' '{\"check\":\"y\",\"subject\":\"s\","
				   "\"state\":\"measured\"}'; exit 4\n");
	struct runner_probe probes[] = {
		{ .name = "one", .path = one, .budget_us = LONG_US },
		{ .name = "two", .path = two, .budget_us = LONG_US },
	};
	struct runner_options options = fixture_options();
	CLEANUP(closep) int a = fixture_fifo("FIFO_A");
	CLEANUP(closep) int b = fixture_fifo("FIFO_B");
	struct report report;

	run(probes, ARRAY_SIZE(probes), &options, &report);
	CHECK_EQ(report.n_samples, 2);
	CHECK_STR(report.samples[0].check, "x.rate");
	CHECK_STR(report.samples[1].check, "y");
	CHECK_EQ(report.n_problems, 2);
	CHECK_STR(report.problems[0].probe, "one");
	CHECK_STR(report.problems[0].detail, "exit status 3");
	CHECK_STR(report.problems[1].probe, "two");
	CHECK_STR(report.problems[1].detail, "exit status 4");
	report_release(&report);
}

static void active_probes_run_one_at_a_time_under_the_lock(void)
{
	CLEANUP(freep)
	char *path = fixture_script("probes/alone",
				    "mkdir \"$ALONE\" || exit 3\n"
				    "flock --nonblock \"$LOCK\" true && exit 4\n" SAY
				    "rmdir \"$ALONE\"\n");
	CLEANUP(freep) char *alone = xasprintf("%s/alone", test_dir());
	CLEANUP(freep) char *lock = xasprintf("%s/active.lock", test_dir());
	struct runner_probe probes[4];
	struct runner_options options = fixture_options();
	CLEANUP(closep) int after = -1;
	struct report report;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		probes[i] = (struct runner_probe){
			.name = "alone", .path = path, .budget_us = LONG_US, .active = true
		};
	(void)setenv("ALONE", alone, 1);
	(void)setenv("LOCK", lock, 1);
	run(probes, ARRAY_SIZE(probes), &options, &report);
	CHECK_EQ(report.n_samples, ARRAY_SIZE(probes));
	CHECK_EQ(report.n_problems, 0);
	CHECK_EQ(lock_take(lock, 0, &after, NULL), 0); /* free again */
	report_release(&report);
}

/* --- the lock of another -------------------------------------------------------------- */

static void while_another_holds_the_lock_active_probes_are_busy_and_passive_ones_run(void)
{
	CLEANUP(freep) char *path = fixture_script("probes/ok", SAY);
	CLEANUP(freep) char *lock = xasprintf("%s/active.lock", test_dir());
	struct runner_probe probes[] = {
		{ .name = "a", .path = path, .budget_us = LONG_US, .active = true },
		{ .name = "p", .path = path, .budget_us = LONG_US },
		{ .name = "b", .path = path, .budget_us = LONG_US, .active = true },
	};
	struct runner_options options = fixture_options();
	CLEANUP(closep) int held = -1;
	struct report report;

	CHECK_EQ(lock_take(lock, 0, &held, NULL), 0);
	options.lock_wait_us = 100 * USEC_PER_MSEC;
	run(probes, ARRAY_SIZE(probes), &options, &report);
	CHECK_EQ(report.n_samples, 1);
	CHECK_EQ(report.n_problems, 2);
	CHECK_EQ(report.problems[0].code, PROBLEM_BUSY);
	CHECK_STR(report.problems[0].probe, "a");
	CHECK_STR(report.problems[1].probe, "b");
	CHECK_HAS(report.problems[1].detail, "active.lock is held by pid ");
	report_release(&report);
}

static void let_go(void *context, const struct runner_progress *p UNUSED)
{
	int *held = context;

	closep(held);
	*held = -1;
}

static void a_lock_that_comes_free_in_time_is_taken(void)
{
	CLEANUP(freep) char *path = fixture_script("probes/ok", SAY);
	CLEANUP(freep) char *lock = xasprintf("%s/active.lock", test_dir());
	struct runner_probe probe = {
		.name = "a", .path = path, .budget_us = LONG_US, .active = true
	};
	struct runner_options options = fixture_options();
	struct report report;
	int held = -1;

	CHECK_EQ(lock_take(lock, 0, &held, NULL), 0);
	options.lock_wait_us = LONG_US;
	options.progress = let_go;
	options.progress_context = &held;
	run(&probe, 1, &options, &report);
	CHECK_EQ(held, -1);
	CHECK_EQ(report.n_samples, 1);
	CHECK_EQ(report.n_problems, 0);
	report_release(&report);
}

static void a_lock_held_for_us_is_not_taken_again(void)
{
	CLEANUP(freep) char *path = fixture_script("probes/ok", SAY);
	CLEANUP(freep) char *lock = xasprintf("%s/active.lock", test_dir());
	struct runner_probe probe = {
		.name = "a", .path = path, .budget_us = LONG_US, .active = true
	};
	struct runner_options options = fixture_options();
	CLEANUP(closep) int held = -1;
	struct report report;

	CHECK_EQ(lock_take(lock, 0, &held, NULL), 0);
	(void)setenv("ASSAY_LOCK_HELD", "1", 1);
	run(&probe, 1, &options, &report);
	(void)unsetenv("ASSAY_LOCK_HELD");
	CHECK_EQ(report.n_samples, 1);
	CHECK_EQ(report.n_problems, 0);
	report_release(&report);
}

static void a_run_directory_that_cannot_be_is_a_set_up_problem(void)
{
	CLEANUP(freep) char *file = test_file("plain", "");
	CLEANUP(freep) char *path = fixture_script("probes/ok", SAY);
	struct runner_probe probe = {
		.name = "a", .path = path, .budget_us = LONG_US, .active = true
	};
	struct runner_options options = fixture_options();
	struct report report;

	options.run_dir = file;
	run(&probe, 1, &options, &report);
	CHECK_EQ(report.n_problems, 1);
	CHECK_EQ(report.problems[0].code, PROBLEM_SET_UP);
	CHECK_HAS(report.problems[0].detail, file);
	report_release(&report);
}

/* --- giving way ------------------------------------------------------------------------- */

/* Once all active probes are done, let the passive one go. */
static void release_passive(void *context, const struct runner_progress *p)
{
	const int *late = context;

	if (p->done == p->total - 1)
		(void)!write(*late, "x\n", 2);
}

static void when_a_job_arrives_active_probes_are_gone_and_passive_ones_go_on(void)
{
	CLEANUP(freep) char *done = fixture_script("probes/done", SAY);
	CLEANUP(freep)
	char *victim = fixture_script("probes/victim", SAY "setsid sleep 1000 &\n"
							   "echo x >\"$JOB\"\nexec sleep 1000\n");
	CLEANUP(freep) char *passive = fixture_script("probes/passive", "read x <\"$LATE\"\n" SAY);
	struct runner_probe probes[] = {
		{ .name = "done", .path = done, .budget_us = LONG_US, .active = true },
		{ .name = "victim", .path = victim, .budget_us = LONG_US, .active = true },
		{ .name = "passive", .path = passive, .budget_us = LONG_US },
		{ .name = "next", .path = done, .budget_us = LONG_US, .active = true },
	};
	struct runner_options options = fixture_options();
	CLEANUP(closep) int job = fixture_fifo("JOB");
	CLEANUP(closep) int late = fixture_fifo("LATE");
	uint64_t start_us = clock_mono_us();
	struct report report;

	options.stop_fd = job;
	options.progress = release_passive;
	options.progress_context = &late;
	run(probes, ARRAY_SIZE(probes), &options, &report);
	CHECK(clock_mono_us() - start_us < LONG_US);
	CHECK_EQ(report.n_samples, 3);
	CHECK_EQ(report.samples[0].state, SAMPLE_MEASURED); /* of a probe that was done */
	CHECK_EQ(report.samples[1].state, SAMPLE_ABORTED);
	CHECK_EQ(report.samples[1].ok, TRI_UNKNOWN);
	CHECK_EQ(report.samples[2].state, SAMPLE_MEASURED); /* of the passive one */
	CHECK_EQ(report.n_problems, 2);
	CHECK_STR(report.problems[0].probe, "victim");
	CHECK_EQ(report.problems[0].code, PROBLEM_BUSY);
	CHECK_STR(report.problems[0].detail, "aborted: a job arrived");
	CHECK_STR(report.problems[1].probe, "next");
	CHECK_STR(report.problems[1].detail, "not started: a job arrived");
	report_release(&report);
}

static void a_job_that_is_there_already_starts_no_active_probe(void)
{
	CLEANUP(freep) char *path = fixture_script("probes/ok", SAY);
	struct runner_probe probe = {
		.name = "a", .path = path, .budget_us = LONG_US, .active = true
	};
	struct runner_options options = fixture_options();
	CLEANUP(closep) int job = fixture_fifo("JOB");
	struct report report;

	CHECK_EQ(write(job, "x", 1), 1);
	options.stop_fd = job;
	run(&probe, 1, &options, &report);
	CHECK_EQ(report.n_samples, 0);
	CHECK_EQ(report.n_problems, 1);
	CHECK_EQ(report.problems[0].code, PROBLEM_BUSY);
	report_release(&report);
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
	TEST(no_probes_give_an_empty_report),
	TEST(more_probes_than_the_limit_are_refused),
	TEST(a_probe_is_given_its_arguments_its_environment_and_nothing_else),
	TEST(the_budget_of_the_run_cuts_that_of_a_probe),
	TEST(no_probe_starts_after_the_end_of_the_run),
	TEST(passive_probes_run_together_and_report_in_their_order),
	TEST(active_probes_run_one_at_a_time_under_the_lock),
	TEST(while_another_holds_the_lock_active_probes_are_busy_and_passive_ones_run),
	TEST(a_lock_that_comes_free_in_time_is_taken),
	TEST(a_lock_held_for_us_is_not_taken_again),
	TEST(a_run_directory_that_cannot_be_is_a_set_up_problem),
	TEST(when_a_job_arrives_active_probes_are_gone_and_passive_ones_go_on),
	TEST(a_job_that_is_there_already_starts_no_active_probe),
	TEST(progress_names_the_probe_that_runs_and_tells_the_end),
	TEST(signals_descriptors_and_children_of_the_caller_are_left_alone),
	TEST(a_probe_starts_with_no_signal_blocked_or_ignored),
	TEST(a_runner_that_is_killed_leaves_no_orphan_and_no_lock),
};

int main(void)
{
	return TEST_MAIN("runner", tests);
}
