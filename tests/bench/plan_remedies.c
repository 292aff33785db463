/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_remedies DP PP MICROBATCHES: measures how long planning remedies for a job of that shape
 * blocks the controller's loop, with one slow worker and others that differ by up to 3 per cent.
 * Prints milliseconds, and their ratio to simulating each replica once; medians.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/remedies.h"
#include "lib/remedy/replicas.h"

enum { TIMES = 11, SLOW = 5, BASE = 10, SPREAD = 300, ARGUMENTS = 4 };

static int by_time(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median_ms(uint64_t took_us[static TIMES])
{
	qsort(took_us, TIMES, sizeof(*took_us), by_time);
	return (double)took_us[TIMES / 2] / USEC_PER_MSEC;
}

static int run(const struct replicas *r, struct err *err)
{
	CLEANUP(freep) double *times = xcalloc(r->dp, sizeof(*times));
	CLEANUP(freep) struct remedies *found = xcalloc(1, sizeof(*found));
	const struct remedy_range unknown = { NAN, NAN, NAN };
	const double slowest = replicas_times(r, times);
	const struct remedies_facts facts = { .now_s = slowest,
					      .simulated_s = slowest,
					      .replicas = r,
					      .sequences_s = unknown,
					      .gc_s = unknown,
					      .pause_s = NAN,
					      .remaining = NAN,
					      .slow_steps = NAN,
					      .costs = { 600, 300, 60, NAN, NAN, NAN } };
	uint64_t find_us[TIMES], play_us[TIMES];
	double find_ms, play_ms;
	int i, e = 0;

	for (i = 0; i < TIMES && e == 0; i++) {
		play_us[i] = clock_mono_us();
		(void)replicas_times(r, times);
		find_us[i] = clock_mono_us();
		play_us[i] = find_us[i] - play_us[i];
		e = remedies_find(&facts, found, err);
		find_us[i] = clock_mono_us() - find_us[i];
	}
	if (e < 0)
		return e;
	find_ms = median_ms(find_us);
	play_ms = median_ms(play_us);
	(void)printf("%.1f %.1f\n", find_ms, find_ms / play_ms);
	return 0;
}

int main(int argc, char **argv)
{
	struct replicas r = { 0 };
	struct err err = ERR_INIT;
	double *stage, *slowdown;
	size_t i, n;
	int e;

	if (argc != ARGUMENTS) {
		(void)fprintf(stderr, "usage: plan_remedies DP PP MICROBATCHES\n");
		return 2;
	}
	r.dp = strtoul(argv[1], NULL, BASE);
	r.pp = strtoul(argv[2], NULL, BASE);
	r.microbatches = strtoul(argv[3], NULL, BASE);
	n = MIN(r.dp, (size_t)REPLICAS_WORKERS_MAX) * MIN(r.pp, (size_t)REPLICAS_WORKERS_MAX);
	stage = xcalloc(r.pp + 1, sizeof(*stage));
	slowdown = xcalloc(n + 1, sizeof(*slowdown));
	for (i = 0; i < r.pp; i++)
		stage[i] = 1;
	/* A fixed sequence, the same workers each time (Knuth's multiplier). */
	for (i = 0; i < n; i++)
		slowdown[i] =
			1 + (double)((i + 1) * 2654435761U % SPREAD) / 1e4 + (i == SLOW ? 0.3 : 0);
	r.forward_s = r.backward_s = stage;
	r.slowdown = slowdown;
	e = run(&r, &err);
	if (e < 0)
		(void)fprintf(stderr, "plan_remedies: %s\n", err.msg);
	free(stage);
	free(slowdown);
	return e < 0;
}
