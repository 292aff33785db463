/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/harness/cpu_use.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "tests/unit/test.h"

/* user nice system idle iowait irq softirq steal: ticks of 10 ms */
static const char stat_before[] = "cpu  0 0 0 0 0 0 0 0 0 0\n"
				  "cpu0 100 0 50 1000 0 0 0 7 0 0\n"
				  "cpu3 5 5 5 1000 0 5 5 0 0 0\n"
				  "intr 12345 0 0\nctxt 99\n";
static const char stat_after[] = "cpu  0 0 0 0 0 0 0 0 0 0\n"
				 "cpu0 150 0 75 1000 0 0 0 12 0 0\n"
				 "cpu3 5 5 5 1100 0 5 5 0 0 0\n"
				 "intr 12345 0 0\nctxt 99\n";

static void write_process(const char *pid, const char *command, unsigned ticks, unsigned cpu)
{
	CLEANUP(freep)
	char *line = xasprintf("%s (%s) R 1 1 1 0 -1 4194304 1 0 0 0 %u %u 0 0 20 0 1 0 99 1 1 1 "
			       "1 1 1 1 1 1 0 0 0 1 0 0 17 %u 0 0 0 0 0\n",
			       pid, command, ticks / 2, ticks - ticks / 2, cpu);
	CLEANUP(freep) char *stat = xasprintf("proc/%s/stat", pid);
	CLEANUP(freep) char *task = xasprintf("proc/%s/task/%s/stat", pid, pid);
	CLEANUP(freep) char *comm = xasprintf("proc/%s/comm", pid);
	CLEANUP(freep) char *a = test_file(stat, line);
	CLEANUP(freep) char *b = test_file(task, line);
	CLEANUP(freep) char *c = test_file(comm, command);
}

static int proc_open(void)
{
	CLEANUP(freep) char *path = xasprintf("%s/proc", test_dir());

	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Two looks one second apart: three processes, of which 20 used core 3 most. */
static void take_two(struct cpu_look *ret_from, struct cpu_look *ret_to)
{
	CLEANUP(closep) int fd = -1;

	free(test_file("proc/stat", stat_before));
	write_process("10", "quiet", 500, 0);
	write_process("20", "a) R 1 (job", 100, 3);
	write_process("30", "shell", 10, 0);
	write_process("40", "ours", 0, 3);
	fd = proc_open();
	CHECK_EQ(cpu_look_take(fd, true, ret_from, NULL), 0);
	free(test_file("proc/stat", stat_after));
	write_process("20", "a) R 1 (job", 190, 3);
	write_process("30", "shell", 40, 0);
	write_process("40", "ours", 400, 3);
	CHECK_EQ(cpu_look_take(fd, true, ret_to, NULL), 0);
	ret_to->at_us = ret_from->at_us + USEC_PER_SEC;
}

static void busy_and_stolen_shares_are_of_the_window(void)
{
	CLEANUP(cpu_look_release) struct cpu_look from = { 0 };
	CLEANUP(cpu_look_release) struct cpu_look to = { 0 };

	take_two(&from, &to);
	CHECK_NEAR(cpu_use_busy(&from, &to, 0), 0.75, 1e-9);
	CHECK_NEAR(cpu_use_steal(&from, &to, 0), 0.05, 1e-9);
	CHECK_NEAR(cpu_use_busy(&from, &to, 3), 0, 1e-9);
	CHECK_EQ(cpu_look_steal_ns(&to, 0), 120000000);
	/* Not there: offline, or past the last. */
	CHECK_NEAR(cpu_use_busy(&from, &to, 1), 0, 1e-9);
	CHECK_NEAR(cpu_use_busy(&from, &to, 9000), 0, 1e-9);
	/* Counters that go back, and a window without length, are no use. */
	CHECK_NEAR(cpu_use_busy(&to, &from, 0), 0, 1e-9);
	CHECK_NEAR(cpu_use_busy(&to, &to, 0), 0, 1e-9);
}

static void the_busiest_process_of_a_core_is_named(void)
{
	static const struct {
		unsigned cpu;
		long self, pid;
		const char *command;
		double share;
	} cases[] = {
		{ 3, 40, 20, "a) R 1 (job", 0.9 },
		{ 3, 1, 40, "ours", 4.0 },
		{ 0, 40, 30, "shell", 0.3 },
		{ 7, 40, 0, "", 0 },
	};
	CLEANUP(cpu_look_release) struct cpu_look from = { 0 };
	CLEANUP(cpu_look_release) struct cpu_look to = { 0 };
	const struct cpu_use_window window = { &from, &to };
	CLEANUP(closep) int fd = -1;
	size_t i;

	take_two(&from, &to);
	fd = proc_open();
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cpu_user user;

		cpu_use_busiest(fd, &window, &(struct cpu_use_cpus){ &cases[i].cpu, 1 },
				cases[i].self, &user);
		CHECK_EQ(user.pid, cases[i].pid);
		CHECK_STR(user.command, cases[i].command);
		CHECK_NEAR(user.share, cases[i].share, 1e-9);
	}
}

/* Process 20 (90 ticks) is on core 3 and 40 (400) too; core 0 saw 30 (30 ticks) last. */
static void one_that_moves_is_named_when_it_used_far_more(void)
{
	static const struct {
		const char *status; /* of process 40 */
		unsigned cpu;
		long pid;
	} cases[] = {
		{ "Name:\tours\nCpus_allowed_list:\t0-7\n", 0, 40 },
		{ "Name:\tours\nCpus_allowed_list:\t1,4-7,0\nMems_allowed:\t1\n", 0, 40 },
		{ "Name:\tours\nCpus_allowed_list:\t3,5-7\n", 0, 30 },
		{ "Name:\tours\nCpus_allowed_list:\tx\n", 0, 30 },
		{ "Name:\tours\n", 0, 30 },
		{ "Name:\tours\nCpus_allowed_list:\t0-7\n", 7, 40 },
		{ "Name:\tours\nCpus_allowed_list:\t0-7\n", 8, 0 },
	};
	CLEANUP(cpu_look_release) struct cpu_look from = { 0 };
	CLEANUP(cpu_look_release) struct cpu_look to = { 0 };
	const struct cpu_use_window window = { &from, &to };
	CLEANUP(closep) int fd = -1;
	struct cpu_user user;
	size_t i;

	take_two(&from, &to);
	fd = proc_open();
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		free(test_file("proc/40/status", cases[i].status));
		cpu_use_busiest(fd, &window, &(struct cpu_use_cpus){ &cases[i].cpu, 1 }, 1, &user);
		CHECK_EQ(user.pid, cases[i].pid);
	}
	/* Not four times as much: whoever was seen there is named. */
	free(test_file("proc/20/status", "Name:\ta\nCpus_allowed_list:\t0-7\n"));
	free(test_file("proc/40/status", "Name:\tours\n"));
	cpu_use_busiest(fd, &window, &(struct cpu_use_cpus){ &(unsigned){ 0 }, 1 }, 1, &user);
	CHECK_EQ(user.pid, 30);
}

static void a_stat_that_is_none_is_refused(void)
{
	static const char *const texts[] = { "", "intr 5\n", "cpu  1 2 3\n", "cpuX\n" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(freep) char *path = test_file("proc/stat", texts[i]);
		CLEANUP(closep) int fd = proc_open();
		struct cpu_look look = { .n_cores = 7 };
		struct err err = ERR_INIT;

		CHECK_EQ(cpu_look_take(fd, false, &look, &err), -EINVAL);
		CHECK_STR(err.msg, "/proc/stat: no line for any core");
		CHECK_EQ(look.n_cores, 7);
	}
}

static void a_cpu_number_beyond_the_limit_is_left_out(void)
{
	CLEANUP(freep)
	char *path = test_file("proc/stat", "cpu1 1 1 1 1\ncpu4000000000 1 1 1 1 1 1 1 1\n");
	CLEANUP(closep) int fd = proc_open();
	CLEANUP(cpu_look_release) struct cpu_look look = { 0 };

	CHECK_EQ(cpu_look_take(fd, false, &look, NULL), 0);
	CHECK_EQ(look.n_cores, 2);
	CHECK(!look.cores[0].present);
	CHECK_EQ(look.cores[1].busy_ns, 30000000);
	CHECK_EQ(look.cores[1].steal_ns, 0);
}

static void a_missing_proc_is_said(void)
{
	struct cpu_look look;
	struct err err = ERR_INIT;

	CHECK(cpu_look_take(-1, false, &look, &err) < 0);
	CHECK_HAS(err.msg, "stat");
	CHECK(cpu_use_schedstat(-1, 1, 1, NULL, NULL) < 0);
}

/* Use a core for as long as a thread clock of `ns`. */
static void spin(long ns)
{
	struct timespec t;

	do
		(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec == 0 && t.tv_nsec < ns);
}

static void a_real_process_that_spins_is_found(void)
{
	CLEANUP(closep) int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(cpu_look_release) struct cpu_look from = { 0 };
	CLEANUP(cpu_look_release) struct cpu_look to = { 0 };
	const struct cpu_use_window window = { &from, &to };
	unsigned cpus[CPU_USE_CPUS_MAX];
	struct cpu_user user;
	uint64_t ran = 0;
	pid_t child;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (unsigned)i;
	CHECK_EQ(cpu_look_take(fd, true, &from, NULL), 0);
	child = fork();
	if (child == 0) {
		for (;;)
			spin(1000000);
	}
	/* Until it has had 300 ms of a core: others may be about, but no run of this suite. */
	while (ran < 300000000)
		if (cpu_use_schedstat(fd, child, child, &ran, NULL) < 0)
			break;
	CHECK_EQ(cpu_look_take(fd, true, &to, NULL), 0);
	cpu_use_busiest(fd, &window, &(struct cpu_use_cpus){ cpus, ARRAY_SIZE(cpus) }, getpid(),
			&user);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	if (ran == 0) {
		test_skip("this kernel keeps no schedstat");
		return;
	}
	CHECK(user.pid > 0 && user.command[0] != '\0');
	/* The child, unless a neighbour of this test used yet more. */
	CHECK(user.pid == child ||
	      user.share * (double)(to.at_us - from.at_us) * 1e3 >= 0.9 * (double)ran);
}

static const struct test tests[] = {
	TEST(busy_and_stolen_shares_are_of_the_window),
	TEST(the_busiest_process_of_a_core_is_named),
	TEST(one_that_moves_is_named_when_it_used_far_more),
	TEST(a_stat_that_is_none_is_refused),
	TEST(a_cpu_number_beyond_the_limit_is_left_out),
	TEST(a_missing_proc_is_said),
	TEST(a_real_process_that_spins_is_found),
};

TEST_SUITE(tests);
