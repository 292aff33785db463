/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/plan.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/memory/numa.h"

static void add_cell(const struct numa_host *host, struct plan *plan, size_t cpu, size_t memory)
{
	plan->cells[plan->n++] = (struct plan_cell){
		.cpu = cpu,
		.memory = memory,
		.local = cpu == memory,
		.why = host->nodes[cpu].cores.n ? PLAN_MEASURE : PLAN_NO_CORES,
	};
}

/* Add the cells of one memory node: its own cores first, then the others in order. */
static void add_cells(const struct numa_host *host, struct plan *plan, size_t memory)
{
	size_t cpu;

	if (host->nodes[memory].cpus.n)
		add_cell(host, plan, memory, memory);
	for (cpu = 0; cpu < host->n; cpu++)
		if (cpu != memory && host->nodes[cpu].cpus.n)
			add_cell(host, plan, cpu, memory);
}

static size_t count(const struct plan *plan, bool only_local)
{
	size_t n = 0, i;

	for (i = 0; i < plan->n; i++)
		if (plan->cells[i].why == PLAN_MEASURE)
			n += plan->cells[i].local || !only_local;
	return n;
}

static uint64_t part_us(uint64_t budget_us, size_t n_cells)
{
	return n_cells ? budget_us / 1000 * PLAN_CELLS_PERMILLE / PLAN_PARTS / n_cells : 0;
}

static void leave_out_remote(struct plan *plan)
{
	size_t i;

	for (i = 0; i < plan->n; i++)
		if (plan->cells[i].why == PLAN_MEASURE && !plan->cells[i].local)
			plan->cells[i].why = PLAN_NO_TIME;
}

/* Count the memory nodes that are measured, and mark the first cell of each. */
static size_t mark_first(struct plan *plan)
{
	size_t last = SIZE_MAX, n = 0, i;

	for (i = 0; i < plan->n; i++) {
		struct plan_cell *cell = &plan->cells[i];

		if (cell->why != PLAN_MEASURE || cell->memory == last)
			continue;
		last = cell->memory;
		cell->prepare_us = 1;
		n++;
	}
	return n;
}

static void share_out(struct plan *plan, uint64_t budget_us)
{
	uint64_t part = part_us(budget_us, count(plan, false));
	size_t n_prepared = MAX(mark_first(plan), (size_t)1), i;

	for (i = 0; i < plan->n; i++) {
		struct plan_cell *cell = &plan->cells[i];

		if (cell->why != PLAN_MEASURE)
			continue;
		cell->part_us = part;
		if (cell->prepare_us)
			cell->prepare_us = budget_us / 1000 * PLAN_PREPARE_PERMILLE / n_prepared;
	}
}

struct plan plan_make(const struct numa_host *host, uint64_t budget_us)
{
	struct plan plan = {
		.cells = xcalloc(MAX(host->n * host->n, (size_t)1), sizeof(struct plan_cell)),
		.look_us = MIN(PLAN_LOOK_US, budget_us / 1000 * PLAN_LOOK_PERMILLE),
	};
	size_t memory;

	for (memory = 0; memory < host->n; memory++)
		if (host->nodes[memory].total_bytes)
			add_cells(host, &plan, memory);
	if (part_us(budget_us, count(&plan, false)) < PLAN_PART_MIN_US)
		leave_out_remote(&plan);
	share_out(&plan, budget_us);
	return plan;
}

void plan_release(struct plan *plan)
{
	free(plan->cells);
	*plan = (struct plan){ 0 };
}

size_t plan_parts(const struct plan *plan)
{
	return count(plan, false) * PLAN_PARTS;
}

uint64_t plan_next_us(uint64_t left_us, uint64_t prepare_us, size_t parts)
{
	const uint64_t reserved = prepare_us + left_us / 1000 * PLAN_RESERVE_PERMILLE;

	return left_us > reserved ? MIN(PLAN_PART_MAX_US, (left_us - reserved) / parts) : 0;
}
