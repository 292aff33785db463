/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_place.h"

#include "probes/memory/numa.h"

/* The node number of the side; -1 if there is none. */
static int node_of(const struct gemm_device *d, enum gemm_side side)
{
	const struct numa_host *host = d->plan->numa;
	const size_t n = host ? host->n : 0;
	size_t near = 0, i;

	while (near < n && ((int)host->nodes[near].id != d->info.numa || !host->nodes[near].cores.n))
		near++;
	if (near == n)
		return -1;
	if (side == GEMM_NEAR)
		return d->info.numa;
	for (i = 0; i < n; i++) {
		const struct numa_node *node = &host->nodes[near < n / 2 ? n - 1 - i : i];

		if (node->cores.n && (int)node->id != d->info.numa)
			return (int)node->id;
	}
	return -1;
}

bool gemm_place_has(const struct gemm_device *d, enum gemm_side side)
{
	return node_of(d, side) >= 0;
}

bool gemm_place_is_sure(const struct gemm_device *d)
{
	return gemm_place_has(d, GEMM_NEAR) || !d->plan->numa || d->plan->numa->n < 2;
}

void gemm_place_enter(const struct gemm_device *d, enum gemm_side side, struct gemm_place *ret)
{
	const int node = node_of(d, side);

	ret->moved = node >= 0 && sched_getaffinity(0, sizeof(ret->before), &ret->before) == 0;
	if (ret->moved)
		numa_go_near(d->plan->numa, node);
}

void gemm_place_leave(const struct gemm_place *place)
{
	if (place->moved)
		(void)sched_setaffinity(0, sizeof(place->before), &place->before);
}

void gemm_place_params(const struct gemm_device *d, enum gemm_side side, json_t *params)
{
	const char *cpus = !gemm_place_has(d, side) ? "any" : side == GEMM_NEAR ? "near" : "far";

	(void)json_object_set_new(params, "cpus", json_string(cpus));
	if (d->plan->cpu)
		(void)json_object_set_new(params, "cpu", json_string(d->plan->cpu));
}
