/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/numa.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "probes/memory/cgroup.h"
#include "probes/memory/plan.h"
#include "tests/unit/memory_tree.h"
#include "tests/unit/test.h"

#define GIB (UINT64_C(1) << 30)

/* Two sockets of four cores with two threads each, one cache a socket. */
static const struct tree_node two_nodes[] = {
	{ 0, "0-3,8-11", 64 * GIB, 1024, 0 },
	{ 1, "4-7,12-15", 32 * GIB, 0, 3 },
};
static const struct tree two = { "two", "0-1", two_nodes, 2, 16, 2, 4, "36608K" };

/* Four nodes, of which one has only memory and one only cores; ids with a hole; two caches a node. */
static const struct tree_node four_nodes[] = {
	{ 0, "0-3", 8 * GIB, 0, 0 },
	{ 1, "4-7", 0, 0, 0 },
	{ 2, "", 128 * GIB, 0, 0 },
	{ 5, "8-11", 4 * GIB, 0, 0 },
};
static const struct tree four = { "four", "0-2,5", four_nodes, 4, 12, 1, 2, "32M" };

/* Two Grace processors with a Blackwell GPU each (GB200): its memory is a node without processors. */
static const struct tree_node superchip_nodes[] = {
	{ 0, "0-3", 480 * GIB, 0, 0 }, { 1, "4-7", 480 * GIB, 0, 0 }, { 2, "", 184 * GIB, 0, 0 },
	{ 10, "", 184 * GIB, 0, 0 },   { 11, "", 0, 0, 0 },
};
static const struct tree superchip = {
	"superchip", "0-2,10-11", superchip_nodes, 5, 8, 1, 4, "114M"
};

static void lists_are_read(void)
{
	static const struct {
		const char *text;
		int r;
		size_t n;
		unsigned first, last;
	} cases[] = {
		{ "0-3,8,10-11\n", 0, 7, 0, 11 },
		{ "5", 0, 1, 5, 5 },
		{ "", 0, 0, 0, 0 },
		{ "\n", 0, 0, 0, 0 },
		{ "0-8191", 0, 8192, 0, 8191 },
		{ "0-8192", -EINVAL, 0, 0, 0 },
		{ "3-1", -EINVAL, 0, 0, 0 },
		{ "4,4", -EINVAL, 0, 0, 0 },
		{ "4,2", -EINVAL, 0, 0, 0 },
		{ "1,", -EINVAL, 0, 0, 0 },
		{ ",1", -EINVAL, 0, 0, 0 },
		{ "1-", -EINVAL, 0, 0, 0 },
		{ "-1", -EINVAL, 0, 0, 0 },
		{ "x", -EINVAL, 0, 0, 0 },
		{ "1 2", -EINVAL, 0, 0, 0 },
		{ "99999999999999999999999", -EINVAL, 0, 0, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(cpu_list_release) struct cpu_list list = { 0 };

		CHECK_EQ(cpu_list_parse(cases[i].text, &list), cases[i].r);
		CHECK_EQ(list.n, cases[i].n);
		if (list.n) {
			CHECK_EQ(list.v[0], cases[i].first);
			CHECK_EQ(list.v[list.n - 1], cases[i].last);
		}
	}
}

static struct numa_host read_tree(const struct tree *tree, const char *allowed)
{
	CLEANUP(cpu_list_release) struct cpu_list list = { 0 };
	CLEANUP(closep) int fd = tree_write(tree);
	struct numa_host host = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(cpu_list_parse(allowed, &list), 0);
	CHECK_EQ(numa_read(fd, &list, &host, &err), 0);
	CHECK_STR(err.msg, "");
	return host;
}

static void two_sockets_are_read(void)
{
	CLEANUP(numa_host_release) struct numa_host host = read_tree(&two, "0-15");

	CHECK_EQ(host.n, 2);
	CHECK(!host.more);
	CHECK_EQ(host.nodes[1].id, 1);
	CHECK_EQ(host.nodes[1].cpus.n, 8);
	/* One thread of each physical core. */
	CHECK_EQ(host.nodes[1].cores.n, 4);
	CHECK_EQ(host.nodes[1].cores.v[0], 4);
	CHECK_EQ(host.nodes[1].cores.v[3], 7);
	CHECK_EQ(host.nodes[0].free_bytes, 64 * GIB);
	CHECK_EQ(host.nodes[0].total_bytes, 128 * GIB);
	CHECK_EQ(host.nodes[0].free_huge_2m, 2 * GIB);
	CHECK_EQ(host.nodes[0].free_huge_1g, 0);
	CHECK_EQ(host.nodes[1].free_huge_1g, 3 * GIB);
	CHECK_EQ(host.nodes[0].llc_bytes, UINT64_C(36608) * 1024);
}

static void cores_that_are_not_ours_are_left_out(void)
{
	CLEANUP(numa_host_release) struct numa_host host = read_tree(&two, "1,9-10,13");

	/* CPU 9 is the other thread of core 1; 10 stands for core 2. */
	CHECK_EQ(host.nodes[0].cores.n, 2);
	CHECK_EQ(host.nodes[0].cores.v[0], 1);
	CHECK_EQ(host.nodes[0].cores.v[1], 10);
	CHECK_EQ(host.nodes[1].cores.n, 1);
	CHECK_EQ(host.nodes[1].cores.v[0], 13);
	CHECK_EQ(host.nodes[1].cpus.n, 8);
}

static void nodes_without_memory_or_cores_are_kept(void)
{
	CLEANUP(numa_host_release) struct numa_host host = read_tree(&four, "0-11");

	CHECK_EQ(host.n, 4);
	CHECK_EQ(host.nodes[1].total_bytes, 0);
	CHECK_EQ(host.nodes[2].cpus.n, 0);
	CHECK_EQ(host.nodes[2].llc_bytes, 0);
	CHECK_EQ(host.nodes[3].id, 5);
	CHECK_EQ(host.nodes[0].llc_bytes, UINT64_C(64) << 20);
}

/* Who copies to it would write into a GPU, and call that a path of the host. */
static void memory_without_processors_is_none_of_the_host(void)
{
	CLEANUP(numa_host_release) struct numa_host host = read_tree(&superchip, "0-7");
	CLEANUP(numa_host_release) struct numa_host usual = read_tree(&two, "0-15");
	struct plan plan;
	size_t i;

	CHECK_EQ(host.nodes[2].total_bytes, 2 * 184 * GIB);
	numa_leave_out_bare(&host);
	CHECK_EQ(host.n, 5);
	CHECK_EQ(host.nodes[1].total_bytes, 2 * 480 * GIB);
	CHECK_EQ(host.nodes[2].total_bytes, 0);
	CHECK_EQ(host.nodes[3].total_bytes, 0);
	plan = plan_make(&host, 5000000);
	CHECK_EQ(plan.n, 4);
	for (i = 0; i < plan.n; i++)
		CHECK(plan.cells[i].memory < 2);
	plan_release(&plan);
	numa_leave_out_bare(&usual);
	CHECK(usual.nodes[0].total_bytes > 0 && usual.nodes[1].total_bytes > 0);
}

static void a_kernel_without_numa_is_one_node(void)
{
	static const struct tree flat = { "flat", NULL, NULL, 0, 4, 2, 2, "8M" };
	CLEANUP(numa_host_release) struct numa_host host = read_tree(&flat, "0-3");

	CHECK_EQ(host.n, 1);
	CHECK_EQ(host.nodes[0].id, 0);
	CHECK_EQ(host.nodes[0].cpus.n, 4);
	CHECK_EQ(host.nodes[0].cores.n, 2);
	CHECK(host.nodes[0].free_bytes > 0);
	CHECK_EQ(host.nodes[0].llc_bytes, UINT64_C(8) << 20);
}

static void a_tree_that_is_wrong_is_refused_with_the_file(void)
{
	static const struct tree_node bad[] = { { 0, "0-", GIB, 0, 0 } };
	static const struct tree_node empty[] = { { 0, "0-1", 0, 0, 0 } };
	static const struct tree_node bare[] = { { 0, "", GIB, 0, 0 } };
	static const struct {
		struct tree tree;
		int r;
		const char *says;
	} cases[] = {
		{ { "bad1", "0", bad, 1, 2, 1, 1, "8M" }, -EINVAL, "node/node0/cpulist: not a list" },
		{ { "bad2", "zero", bad, 1, 2, 1, 1, "8M" }, -EINVAL, "node/online: not a list" },
		{ { "bad3", "0-1", empty, 1, 2, 1, 1, "8M" }, -ENOENT, "node/node1/cpulist" },
		{ { "bad4", "0", empty, 1, 2, 1, 1, "8M" }, -ENODEV, "no node has memory" },
		{ { "bad5", "0", bare, 1, 2, 1, 1, "8M" }, -ENODEV, "no node has CPUs" },
		{ { "bad6", "1024", bare, 1, 2, 1, 1, "8M" }, -EINVAL, "1024 is not a valid node" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(closep) int fd = tree_write(&cases[i].tree);
		CLEANUP(cpu_list_release) struct cpu_list allowed = { 0 };
		struct numa_host host = { .n = 99 };
		struct err err = ERR_INIT;

		CHECK_EQ(cpu_list_parse("0-3", &allowed), 0);
		CHECK_EQ(numa_read(fd, &allowed, &host, &err), cases[i].r);
		CHECK_HAS(err.msg, cases[i].says);
		CHECK_EQ(host.n, 99);
	}
}

static void caches_of_a_guest_are_not_believed(void)
{
	CHECK(numa_caches_are_real("flags\t\t: fpu vme sse2\n"));
	CHECK(!numa_caches_are_real("flags\t\t: fpu vme hypervisor lahf_lm\n"));
	CHECK(!numa_caches_are_real(NULL));
}

static void this_host_is_read(void)
{
	CLEANUP(closep) int fd = open("/sys/devices/system", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(cpu_list_release) struct cpu_list allowed = { 0 };
	CLEANUP(numa_host_release) struct numa_host host = { 0 };
	struct err err = ERR_INIT;
	size_t cores = 0, i;

	CHECK_EQ(cpu_list_allowed(&allowed, &err), 0);
	CHECK(allowed.n >= 1);
	CHECK_EQ(numa_read(fd, &allowed, &host, &err), 0);
	for (i = 0; i < host.n; i++)
		cores += host.nodes[i].cores.n;
	CHECK(cores >= 1 && cores <= allowed.n);
}

static void every_core_node_meets_every_memory_node(void)
{
	CLEANUP(numa_host_release) struct numa_host host = read_tree(&four, "0-11");
	CLEANUP(plan_release) struct plan plan = plan_make(&host, 5000000);
	/* By memory node, its own cores first. Node 1 has no memory, node 2 no cores. */
	static const struct {
		size_t cpu, memory;
	} want[] = { { 0, 0 }, { 1, 0 }, { 3, 0 }, { 0, 2 }, { 1, 2 },
		     { 3, 2 }, { 3, 3 }, { 0, 3 }, { 1, 3 } };
	uint64_t prepare = 0, parts = 0;
	size_t i;

	CHECK_EQ(plan.n, ARRAY_SIZE(want));
	for (i = 0; i < MIN(plan.n, ARRAY_SIZE(want)); i++) {
		CHECK_EQ(plan.cells[i].cpu, want[i].cpu);
		CHECK_EQ(plan.cells[i].memory, want[i].memory);
		CHECK_EQ(plan.cells[i].local, want[i].cpu == want[i].memory);
		CHECK_EQ(plan.cells[i].why, PLAN_MEASURE);
		CHECK_EQ(plan.cells[i].part_us, 5000000 / 1000 * 550 / 45);
		prepare += plan.cells[i].prepare_us;
		parts += PLAN_PARTS * plan.cells[i].part_us;
	}
	/* Each of the three memory nodes is prepared once, and all fits. */
	CHECK(plan.cells[0].prepare_us && plan.cells[3].prepare_us && plan.cells[6].prepare_us);
	CHECK_NEAR((double)prepare, 5e6 * 350 / 1000, 3);
	CHECK(prepare + parts + plan.look_us <= 5000000);
	CHECK_EQ(plan.look_us, 200000);
	CHECK_EQ(plan_parts(&plan), 45);
}

static void a_short_budget_measures_only_within_nodes(void)
{
	CLEANUP(numa_host_release) struct numa_host host = read_tree(&two, "0-15");
	CLEANUP(plan_release) struct plan whole = plan_make(&host, 1000000);
	CLEANUP(plan_release) struct plan less = plan_make(&host, 200000);
	size_t i;

	CHECK_EQ(whole.n, 4);
	CHECK_EQ(plan_parts(&whole), 20);
	CHECK_EQ(less.n, 4);
	CHECK_EQ(plan_parts(&less), 10);
	for (i = 0; i < less.n; i++) {
		CHECK_EQ(less.cells[i].why, less.cells[i].local ? PLAN_MEASURE : PLAN_NO_TIME);
		CHECK_EQ(less.cells[i].part_us, less.cells[i].local ? 11000 : 0);
		CHECK_EQ(less.cells[i].prepare_us, less.cells[i].local ? 35000 : 0);
	}
	CHECK_EQ(less.look_us, 10000);
}

static void cores_that_may_not_be_used_are_said(void)
{
	CLEANUP(numa_host_release) struct numa_host host = read_tree(&two, "0-3");
	CLEANUP(plan_release) struct plan plan = plan_make(&host, 5000000);

	CHECK_EQ(plan.n, 4);
	CHECK_EQ(plan.cells[0].why, PLAN_MEASURE);
	CHECK_EQ(plan.cells[1].why, PLAN_NO_CORES);
	CHECK_EQ(plan.cells[1].cpu, 1);
	/* Memory 1 is first measured by node 0, which therefore makes it ready. */
	CHECK_EQ(plan.cells[2].why, PLAN_NO_CORES);
	CHECK_EQ(plan.cells[2].prepare_us, 0);
	CHECK_EQ(plan.cells[3].why, PLAN_MEASURE);
	CHECK(plan.cells[3].prepare_us > 0);
	CHECK_EQ(plan_parts(&plan), 10);
}

static void time_that_was_not_needed_goes_to_the_rest(void)
{
	CHECK_EQ(plan_next_us(1000000, 0, 5), 190000);
	CHECK_EQ(plan_next_us(1000000, 450000, 5), 100000);
	CHECK_EQ(plan_next_us(100000000, 0, 1), PLAN_PART_MAX_US);
	CHECK_EQ(plan_next_us(1000, 2000, 1), 0);
	CHECK_EQ(plan_next_us(0, 0, 1), 0);
}

static void the_limits_of_all_groups_above_count(void)
{
	static const struct {
		const char *name, *group, *own_max, *up_max;
		uint64_t left;
	} cases[] = {
		{ "g1", "0::/up/own\n", "max", "1000000", 1000000 - 5000 },
		{ "g2", "3:cpu:/x\n0::/up/own\n", "9000", "1000000", 4000 },
		{ "g3", "0::/up/own\n", "max", "max", UINT64_MAX },
		{ "g4", "0::/up/own\n", "4000", "max", 0 },
		{ "g5", "1:memory:/up/own\n", "4000", "4000", UINT64_MAX },
		{ "g6", "", "4000", "4000", UINT64_MAX },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *root = xasprintf("%s/%s", test_dir(), cases[i].name);
		CLEANUP(freep)
		char *own = xasprintf("%s/sys/fs/cgroup/up/own/memory.", cases[i].name);
		CLEANUP(freep) char *up = xasprintf("%s/sys/fs/cgroup/up/memory.", cases[i].name);
		CLEANUP(freep) char *self = xasprintf("%s/proc/self/cgroup", cases[i].name);
		CLEANUP(freep) char *own_max = xasprintf("%smax", own);
		CLEANUP(freep) char *own_now = xasprintf("%scurrent", own);
		CLEANUP(freep) char *up_max = xasprintf("%smax", up);
		CLEANUP(freep) char *up_now = xasprintf("%scurrent", up);

		free(test_file(self, cases[i].group));
		free(test_file(own_max, cases[i].own_max));
		free(test_file(own_now, "5000\n"));
		free(test_file(up_max, cases[i].up_max));
		free(test_file(up_now, "5000\n"));
		CHECK_EQ(cgroup_memory_left(root), cases[i].left);
	}
	CHECK_EQ(cgroup_memory_left("/nonexistent"), UINT64_MAX);
}

/* What drives an RNIC runs next to it, and stays where it is when there is no such node. */
static void a_thread_goes_near_a_node(void)
{
	cpu_set_t all, now;
	unsigned cores[2], n = 0, cpu;
	struct numa_node nodes[] = { { .id = 3 }, { .id = 4, .cores = { .v = cores, .n = 1 } } };
	const struct numa_host host = { .nodes = nodes, .n = ARRAY_SIZE(nodes) };

	CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	for (cpu = 0; cpu < CPU_SETSIZE && n < ARRAY_SIZE(cores); cpu++) {
		if (CPU_ISSET(cpu, &all))
			cores[n++] = cpu;
	}
	numa_go_near(&host, 3);
	numa_go_near(&host, -1);
	numa_go_near(NULL, 4);
	CHECK_EQ(sched_getaffinity(0, sizeof(now), &now), 0);
	CHECK(CPU_EQUAL(&now, &all));
	numa_go_near(&host, 4);
	CHECK_EQ(sched_getaffinity(0, sizeof(now), &now), 0);
	CHECK_EQ(CPU_COUNT(&now), 1);
	CHECK(CPU_ISSET(cores[0], &now));
	CHECK_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
	nodes[1].cores.n = n;
	numa_go_near(&host, 4);
	CHECK_EQ(sched_getaffinity(0, sizeof(now), &now), 0);
	/* The first core of the host has other things to do. */
	CHECK(n < 2 || !CPU_ISSET(0, &now));
	CHECK_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
}

static const struct test tests[] = {
	TEST(lists_are_read),
	TEST(two_sockets_are_read),
	TEST(cores_that_are_not_ours_are_left_out),
	TEST(nodes_without_memory_or_cores_are_kept),
	TEST(memory_without_processors_is_none_of_the_host),
	TEST(a_kernel_without_numa_is_one_node),
	TEST(a_tree_that_is_wrong_is_refused_with_the_file),
	TEST(caches_of_a_guest_are_not_believed),
	TEST(this_host_is_read),
	TEST(every_core_node_meets_every_memory_node),
	TEST(a_short_budget_measures_only_within_nodes),
	TEST(cores_that_may_not_be_used_are_said),
	TEST(time_that_was_not_needed_goes_to_the_rest),
	TEST(the_limits_of_all_groups_above_count),
	TEST(a_thread_goes_near_a_node),
};

TEST_SUITE(tests);
