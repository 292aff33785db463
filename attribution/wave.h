/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of simulations that share passes over a trace:
 *
 *	wave_open(&wave, trace, graph, cost, n_threads, &err);
 *	times = wave_add(&wave, rule, context);         add simulations
 *	wave_run(&wave);                                now times[step] are known
 *	wave_release(&wave);                            also frees the times
 *
 * Pure: no clock, no I/O; threads are from crew.h.
 */
#pragma once

#include "attribution/cost.h"
#include "attribution/simulate.h"
#include "lib/base/pool.h"

struct err;

enum { WAVE_MAX = 4096 };

struct wave {
	const struct trace *trace;
	struct simulation simulation;
	size_t n_threads;
	const double *ideal; /* [key] */
	struct whatif *list; /* WAVE_MAX */
	size_t n;
	double *room; /* of all threads */
	struct pool pool;
};

/* Borrows everything while the wave is open. -ENOMEM. */
int wave_open(struct wave *wave, const struct trace *trace, const struct graph *graph,
	      const struct cost *cost, size_t n_threads, struct err *err);
void wave_release(struct wave *wave);

/*
 * Chooses which keys keep their recorded cost and which get the ideal one. The context for
 * wave_add_set() is the struct wave_stages below.
 */
typedef enum whatif_choice wave_rule(const struct trace_key *key, const void *context);

struct wave_stages {
	const struct whatif_set *set;
	uint32_t last; /* stage */
};

/* Add a simulation for wave_run(); returns its step times. Borrowed. */
const double *wave_add(struct wave *wave, wave_rule *rule, const void *context);

/* The same for each DP rank alone: the times are [step * dp + d]. */
const double *wave_add_alone(struct wave *wave, wave_rule *rule, const void *context);

/*
 * Like wave_add(), for a rule with WHATIF_MENDED, WHATIF_KEPT or WHATIF_PACED, for these workers,
 * [d * pp + stage].
 */
const double *wave_add_set(struct wave *wave, wave_rule *rule, const uint32_t *workers, size_t n);

/* The simulation added last, to modify before it runs. */
struct whatif *wave_newest(struct wave *wave);

/* Run all added simulations. Their times stay valid until the wave is released. */
void wave_run(struct wave *wave);

/*
 * The same for sets to fix, whose DP ranks are the pairs: faster if DP ranks meet late in a step.
 */
void wave_run_mended(struct wave *wave, const struct whatif_pairs *pairs);

/* The mean of `n` times. */
double wave_mean(const double *times, size_t n);
