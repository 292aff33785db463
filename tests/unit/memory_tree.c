/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/memory_tree.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/macro.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

PRINTF(3, 4)
static void put(const struct tree *tree, const char *path, const char *fmt, ...)
{
	CLEANUP(freep) char *full = xasprintf("%s/sys/devices/system/%s", tree->name, path);
	char text[512];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	free(test_file(full, text));
}

static void put_node(const struct tree *tree, const struct tree_node *node)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "node/node%u/cpulist", node->id);
	put(tree, path, "%s\n", node->cpus);
	(void)snprintf(path, sizeof(path), "node/node%u/meminfo", node->id);
	put(tree, path,
	    "Node %u MemTotal:       %" PRIu64 " kB\nNode %u MemFree:        %" PRIu64 " kB\n"
	    "Node %u MemUsed:        1 kB\n",
	    node->id, node->free_bytes / 512, node->id, node->free_bytes / 1024, node->id);
	(void)snprintf(path, sizeof(path), "node/node%u/hugepages/hugepages-2048kB/free_hugepages",
		       node->id);
	put(tree, path, "%u\n", node->huge_2m);
	(void)snprintf(path, sizeof(path),
		       "node/node%u/hugepages/hugepages-1048576kB/free_hugepages", node->id);
	put(tree, path, "%u\n", node->huge_1g);
}

static void put_cache(const struct tree *tree, unsigned cpu, unsigned index, unsigned level,
		      const char *size, const char *shared)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "cpu/cpu%u/cache/index%u/level", cpu, index);
	put(tree, path, "%u\n", level);
	(void)snprintf(path, sizeof(path), "cpu/cpu%u/cache/index%u/size", cpu, index);
	put(tree, path, "%s\n", size);
	(void)snprintf(path, sizeof(path), "cpu/cpu%u/cache/index%u/shared_cpu_list", cpu, index);
	put(tree, path, "%s\n", shared);
}

static void put_cpu(const struct tree *tree, unsigned cpu)
{
	const unsigned cores = tree->n_cpus / tree->smt, core = cpu % cores;
	const unsigned first = core / tree->cpus_an_llc * tree->cpus_an_llc;
	char siblings[64], shared[64], path[128];

	(void)snprintf(siblings, sizeof(siblings), "%u", core);
	(void)snprintf(shared, sizeof(shared), "%u-%u", first, first + tree->cpus_an_llc - 1);
	if (tree->smt == 2) {
		(void)snprintf(siblings, sizeof(siblings), "%u,%u", core, core + cores);
		(void)snprintf(shared, sizeof(shared), "%u-%u,%u-%u", first,
			       first + tree->cpus_an_llc - 1, first + cores,
			       first + cores + tree->cpus_an_llc - 1);
	}
	(void)snprintf(path, sizeof(path), "cpu/cpu%u/topology/thread_siblings_list", cpu);
	put(tree, path, "%s\n", siblings);
	put_cache(tree, cpu, 0, 1, "32K", siblings);
	put_cache(tree, cpu, 1, 3, tree->llc, shared);
	put_cache(tree, cpu, 2, 2, "1024K", siblings);
}

int tree_write(const struct tree *tree)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s/sys/devices/system", test_dir(), tree->name);
	unsigned i;

	if (tree->online)
		put(tree, "node/online", "%s\n", tree->online);
	for (i = 0; i < tree->n_nodes; i++)
		put_node(tree, &tree->nodes[i]);
	for (i = 0; i < tree->n_cpus; i++)
		put_cpu(tree, i);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
