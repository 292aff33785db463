/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/wave.h"

#include <errno.h>
#include <stdlib.h>

#include "attribution/crew.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

int wave_open(struct wave *wave, const struct trace *trace, const struct graph *graph,
	      const struct cost *cost, size_t n_threads, struct err *err)
{
	double *ideal;
	size_t i;

	*wave = (struct wave){ .trace = trace, .n_threads = n_threads };
	wave->simulation = simulation_of(trace, graph, cost->value, n_threads);
	wave->list = xcalloc(WAVE_MAX, sizeof(*wave->list));
	wave->room = calloc(simulation_room(&wave->simulation) * n_threads, sizeof(*wave->room));
	if (!wave->room)
		return err_set(err, ENOMEM, "no memory to simulate %zu operations",
			       trace->n_keys * trace->n_lanes);
	ideal = pool_take(&wave->pool, trace->n_keys * sizeof(*ideal));
	for (i = 0; i < trace->n_keys; i++)
		ideal[i] = cost->ideal[trace->keys[i].type];
	wave->ideal = ideal;
	return 0;
}

void wave_release(struct wave *wave)
{
	free(wave->list);
	free(wave->room);
	pool_release(&wave->pool);
	*wave = (struct wave){ 0 };
}

static const double *add(struct wave *wave, wave_rule *rule, const void *context, bool alone)
{
	const struct trace *trace = wave->trace;
	uint8_t *choices = pool_take(&wave->pool, trace->n_keys);
	size_t i;

	if (wave->n == WAVE_MAX)
		wave_run(wave);
	for (i = 0; i < trace->n_keys; i++)
		choices[i] = (uint8_t)rule(&trace->keys[i], context);
	wave->list[wave->n] = (struct whatif){
		.choices = choices,
		.ideal = wave->ideal,
		.alone = alone,
		.times = pool_take(&wave->pool,
				   (alone ? trace->n_lanes : trace->n_steps) * sizeof(double)),
	};
	return wave->list[wave->n++].times;
}

const double *wave_add(struct wave *wave, wave_rule *rule, const void *context)
{
	return add(wave, rule, context, false);
}

const double *wave_add_alone(struct wave *wave, wave_rule *rule, const void *context)
{
	return add(wave, rule, context, true);
}

static struct whatif_set set_of(struct wave *wave, const uint32_t *workers, size_t n)
{
	size_t pp = wave->trace->job.pp, i, stage;
	uint32_t *first = pool_take(&wave->pool, (pp + 1) * sizeof(*first));
	uint32_t *ranks = pool_take(&wave->pool, (n + 1) * sizeof(*ranks));
	uint32_t *at = pool_take(&wave->pool, pp * sizeof(*at));

	for (i = 0; i < n; i++)
		first[workers[i] % pp + 1]++;
	for (stage = 0; stage < pp; stage++) {
		first[stage + 1] += first[stage];
		at[stage] = first[stage];
	}
	for (i = 0; i < n; i++)
		ranks[at[workers[i] % pp]++] = workers[i] / (uint32_t)pp;
	return (struct whatif_set){ first, ranks };
}

const double *wave_add_set(struct wave *wave, wave_rule *rule, const uint32_t *workers, size_t n)
{
	struct whatif_set set = set_of(wave, workers, n);
	struct wave_stages stages = { &set, wave->trace->job.pp - 1 };
	const double *times = wave_add(wave, rule, &stages);

	wave_newest(wave)->set = set;
	return times;
}

struct whatif *wave_newest(struct wave *wave)
{
	return &wave->list[wave->n - 1];
}

/* Run all simulations over one block of steps: its costs are read from memory once. */
static void run_block(void *context, size_t block, size_t thread)
{
	const struct wave *wave = context;
	double *room = wave->room + thread * simulation_room(&wave->simulation);
	size_t i;

	simulate_load(&wave->simulation, block, room);
	for (i = 0; i < wave->n; i++)
		simulate(&wave->simulation, &wave->list[i], block, room);
}

void wave_run(struct wave *wave)
{
	crew_run(wave->n_threads, simulation_blocks(&wave->simulation), run_block, wave);
	wave->n = 0;
}

/* A running wave of sets to fix. */
struct mending {
	const struct wave *wave;
	const struct whatif_pairs *pairs;
	double *room; /* of all threads */
	size_t room_size;
};

static void mend_block(void *context, size_t block, size_t thread)
{
	const struct mending *mending = context;
	const struct wave *wave = mending->wave;
	double *room = mending->room + thread * mending->room_size;

	simulate_load(&wave->simulation, block, room);
	simulate_mended(&wave->simulation, wave->list, mending->pairs, block, room);
}

void wave_run_mended(struct wave *wave, const struct whatif_pairs *pairs)
{
	const struct graph *graph = wave->simulation.graph;
	size_t size = simulation_mended_room(&wave->simulation, pairs->n);
	CLEANUP(freep) double *room = calloc(size * wave->n_threads, sizeof(*room));
	struct mending mending = { wave, pairs, room, size };

	if (!room || graph->n_early * 2 < graph->n_units) {
		wave_run(wave);
		return;
	}
	crew_run(wave->n_threads, simulation_blocks(&wave->simulation), mend_block, &mending);
	wave->n = 0;
}

double wave_mean(const double *times, size_t n)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += times[i];
	return sum / (double)n;
}
