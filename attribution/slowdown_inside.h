/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of simulations that run together. Included by slowdown*.c only. */
#pragma once

#include "attribution/simulate.h"
#include "attribution/slowdown.h"
#include "lib/base/pool.h"

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

/* -ENOMEM. */
int wave_open(struct wave *wave, const struct trace *trace, const struct graph *graph,
	      const struct cost *cost, size_t n_threads, struct err *err);
void wave_release(struct wave *wave);

/*
 * What is as it was in a simulation, and what costs what it should. The context of
 * wave_add_set() is the struct wave_stages below.
 */
typedef enum whatif_choice wave_rule(const struct trace_key *key, const void *context);

struct wave_stages {
	const struct whatif_set *set;
	uint32_t last; /* stage */
};

/* One more simulation, run by wave_run(); its times are those of the steps. Borrowed. */
const double *wave_add(struct wave *wave, wave_rule *rule, const void *context);

/* The same for each DP rank alone: its times are [step * dp + d]. */
const double *wave_add_alone(struct wave *wave, wave_rule *rule, const void *context);

/* Like wave_add(), for a rule with WHATIF_MENDED or WHATIF_KEPT: of these workers, [d * pp + stage]. */
const double *wave_add_set(struct wave *wave, wave_rule *rule, const uint32_t *workers, size_t n);

/* The newest simulation, to change before it runs. */
struct whatif *wave_newest(struct wave *wave);

/* Run all that were added. Their times stay until the wave is released. */
void wave_run(struct wave *wave);

/*
 * The same for sets that are mended, whose DP ranks are the pairs: in less time where DP
 * ranks meet late in a step.
 */
void wave_run_mended(struct wave *wave, const struct whatif_pairs *pairs);

double mean_time(const double *times, size_t n);

/* The share of the loss that is gone when a step takes `time`; NAN when there is none. */
double slowdown_share(const struct slowdown *slowdown, double time);

/* W and X, who is to blame. -ENOMEM. */
void slowdown_find_sets(const struct trace *trace, struct wave *wave, struct slowdown *slowdown);

/* What mending each node gives. */
void slowdown_find_nodes(const struct trace *trace, struct wave *wave, struct slowdown *slowdown);
