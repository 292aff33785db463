/* SPDX-License-Identifier: Apache-2.0 */
/* Measures one pair of nodes and emits its samples. */
#pragma once

#include "lib/base/macro.h"
#include "lib/report/report.h"
#include "probes/memory/kernels.h"

struct arena;
struct contention;
struct kernel;
struct numa_node;
struct probe;
struct ready;

enum { CELL_PATTERN = KERNEL_CHECKS, CELL_CHECKS };

/* Names of the checks, in the order of enum kernel_check, with the pattern check last. */
extern const char *const cell_check_names[CELL_CHECKS];

struct cell {
	struct probe *probe;
	const struct contention *contention;
	const struct kernel *kernel;
	const struct numa_node *cpu, *memory;
	const struct ready *ready;
	struct arena *arena;
	double rate; /* bytes per second of the slowest check */
};

/*
 * Run a check for `us` and emit its sample: measured, busy if others took the cores meanwhile, or
 * timeout if the time is too short for a result. Fails only as probe_emit() does.
 */
int cell_measure(struct cell *cell, unsigned check, uint64_t us);

/* Emit a sample of every check in a `state` other than measured, with the reason. */
int cell_emit_all(struct probe *probe, const struct numa_node *cpu, const struct numa_node *memory,
		  int state, const char *why);
