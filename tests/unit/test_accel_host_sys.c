/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU engine's view of a host: its cores, and their other users. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/accel/accel.h"
#include "tests/unit/test.h"

static const struct accel_ops *const ops = &accel_host_ops;

/* A host whose CPUs 0 and 1 are two threads of one core: one device, if we may use both. */
static void hardware_threads_of_one_core_are_one_device(void)
{
	static const char *const lists[][2] = { { "0-1\n", "0-1\n" }, { "0\n", "1\n" } };
	cpu_set_t mine;
	size_t i;

	if (sched_getaffinity(0, sizeof(mine), &mine) < 0 || CPU_COUNT(&mine) != 2 ||
	    !CPU_ISSET(0, &mine) || !CPU_ISSET(1, &mine)) {
		test_skip("needs CPUs 0 and 1 and no other");
		return;
	}
	(void)setenv("ASSAY_SYSROOT", test_dir(), 1);
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		struct accel *a = NULL;

		free(test_file("sys/devices/system/cpu/cpu0/topology/core_cpus_list", lists[i][0]));
		free(test_file("sys/devices/system/cpu/cpu1/topology/core_cpus_list", lists[i][1]));
		free(test_file("sys/devices/system/cpu/cpu0/node3/cpumap", "x"));
		CHECK_EQ(ops->open(&a, NULL), 0);
		CHECK_EQ(ops->n_devices(a), i == 0 ? 1 : 2);
		ops->close(a);
	}
	(void)unsetenv("ASSAY_SYSROOT");
}

static void nonsense_in_sysfs_makes_each_cpu_its_own_core(void)
{
	static const char *const texts[] = { "", "x", "5-2", "0-", "0,,1", "99999", "1" };
	size_t i;

	(void)setenv("ASSAY_SYSROOT", test_dir(), 1);
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		struct accel *a = NULL;
		cpu_set_t mine;

		free(test_file("sys/devices/system/cpu/cpu0/topology/core_cpus_list", texts[i]));
		free(test_file("sys/devices/system/cpu/cpu1/topology/core_cpus_list", "1"));
		CHECK_EQ(ops->open(&a, NULL), 0);
		CHECK_EQ(sched_getaffinity(0, sizeof(mine), &mine), 0);
		CHECK_EQ(ops->n_devices(a), CPU_COUNT(&mine));
		ops->close(a);
	}
	(void)unsetenv("ASSAY_SYSROOT");
}

static void write_process(const char *pid, unsigned ticks, unsigned cpu)
{
	CLEANUP(freep)
	char *line = xasprintf("%s (job) R 1 1 1 0 -1 4194304 1 0 0 0 %u 0 0 0 20 0 1 0 99 1 1 1 1 "
			       "1 1 1 1 1 0 0 0 1 0 0 17 %u 0 0 0 0 0\n",
			       pid, ticks, cpu);
	CLEANUP(freep) char *stat = xasprintf("proc/%s/stat", pid);
	CLEANUP(freep) char *task = xasprintf("proc/%s/task/%s/stat", pid, pid);
	CLEANUP(freep) char *comm = xasprintf("proc/%s/comm", pid);
	CLEANUP(freep) char *status = xasprintf("proc/%s/status", pid);

	free(test_file(stat, line));
	free(test_file(task, line));
	free(test_file(comm, "job\n"));
	free(test_file(status, "Name:\tjob\nCpus_allowed_list:\t0-63\n"));
}

/* A core asks, then asks again: only what was used in between counts. */
static void others_are_named_from_one_question_to_the_next(void)
{
	struct accel_device_info info;
	struct accel *a = NULL;
	char command[64];
	double share;
	long pid;

	(void)setenv("ASSAY_SYSROOT", test_dir(), 1);
	free(test_file("proc/stat", "cpu0 1 1 1 1 1 1 1 1\n"));
	write_process("3000001", 500, 0);
	CHECK_EQ(ops->open(&a, NULL), 0);
	CHECK_EQ(ops->device_info(a, 0, &info, NULL), 0);
	CHECK_EQ(ops->others(a, 0, &pid, command, &share, NULL), 0);
	CHECK_EQ(pid, 0);
	write_process("3000001", 520, info.cpu);
	write_process("3000002", 900, info.cpu);
	CHECK_EQ(ops->others(a, 0, &pid, command, &share, NULL), 0);
	CHECK_EQ(pid, 3000002);
	CHECK_STR(command, "job");
	write_process("3000001", 521, info.cpu);
	CHECK_EQ(ops->others(a, 0, &pid, command, &share, NULL), 0);
	CHECK_EQ(pid, 3000001);
	CHECK_EQ(ops->others(a, 9999, &pid, command, &share, NULL), -ENODEV);
	ops->close(a);
	(void)unsetenv("ASSAY_SYSROOT");
}

static const struct test tests[] = {
	TEST(hardware_threads_of_one_core_are_one_device),
	TEST(nonsense_in_sysfs_makes_each_cpu_its_own_core),
	TEST(others_are_named_from_one_question_to_the_next),
};

TEST_SUITE(tests);
