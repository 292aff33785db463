/* SPDX-License-Identifier: Apache-2.0 */
/* Fake trees of /sys/devices/system for the tests of probes/memory. */
#pragma once

#include <stdint.h>

struct tree_node {
	unsigned id;
	const char *cpus;    /* the cpulist */
	uint64_t free_bytes; /* half of the total; 0: a node without memory */
	unsigned huge_2m, huge_1g;
};

struct tree {
	const char *name; /* directory below test_dir() */
	const char *online;
	const struct tree_node *nodes;
	unsigned n_nodes;
	unsigned n_cpus;      /* with topology and caches */
	unsigned smt;	      /* 2: CPUs i and i + n_cpus/2 are one core */
	unsigned cpus_an_llc; /* adjacent CPUs that share a last-level cache */
	const char *llc;      /* its size, "32768K" */
};

/* Writes it and returns a descriptor of its sys/devices/system. The caller closes it. */
int tree_write(const struct tree *tree);
