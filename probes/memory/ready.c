/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/ready.h"

#include <errno.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "probes/memory/numa.h"
#include "probes/memory/sizing.h"

/* Maximum percentage of the preparation time for touching. */
enum { TOUCH_PERCENT = 65, SWEEPS = 2 };

struct search {
	struct arena arena;
	const struct kernel *kernel;
	uint64_t touch_deadline_us, deadline_us;
};

/* Touch with doubling sizes, so that what is done when time is up can still be used. */
static int touch(struct search *search, uint64_t bytes)
{
	uint64_t size = MAX(search->arena.touched, SIZING_MIN);

	for (; size < bytes; size *= 2)
		if (arena_touch(&search->arena, size, search->touch_deadline_us) < 0)
			return -ENOSPC;
	return arena_touch(&search->arena, bytes, search->touch_deadline_us) < 0 ? -ENOSPC : 0;
}

/*
 * The rate of a copy, which of all checks benefits least from caches (its stores bypass them, so
 * only one array can stay).
 */
static int measure(void *context, uint64_t bytes, double *ret_rate)
{
	struct search *search = context;
	double best = 0, rate;
	int r = touch(search, bytes), i;

	if (r < 0)
		return r;
	search->arena.array_bytes = bytes;
	for (i = 0; i < SWEEPS; i++) {
		if (rate_sweep(&search->arena, search->kernel, KERNEL_COPY, search->deadline_us,
			       &rate) < 0)
			break;
		best = MAX(best, rate);
	}
	if (best <= 0)
		return -ENOSPC;
	*ret_rate = best;
	return 0;
}

/* Map as much as is allowed, or less if the system refuses. */
static int map(const struct ready_wish *wish, struct sizing *sizing, struct buffer *ret,
	       struct err *err)
{
	int r = buffer_open(wish->node, wish->only_node, sizing->most, ret, err);

	while (r == -ENOMEM && sizing->most / 2 >= SIZING_MIN) {
		sizing->most /= 2;
		sizing->least = MAX(SIZING_MIN, MIN(sizing->least, sizing->most / 2));
		r = buffer_open(wish->node, wish->only_node, sizing->most, ret, err);
	}
	return r;
}

static int find_size(const struct ready_wish *wish, struct team *team, const struct kernel *kernel,
		     const struct sizing *sizing, struct ready *ready)
{
	const uint64_t now_us = clock_mono_us();
	const uint64_t us = clock_left_us(wish->deadline_us);
	struct search search = {
		.kernel = kernel,
		.touch_deadline_us = now_us + us / 100 * TOUCH_PERCENT,
		.deadline_us = wish->deadline_us,
	};
	struct sizing_result found;
	int r;

	arena_init(&search.arena, team, &ready->buffer);
	r = sizing_find(sizing, measure, &search, &found);
	/* Slow or contended: what was touched can still be measured. */
	if (r == -ENOSPC && search.arena.touched) {
		found = (struct sizing_result){ .bytes = search.arena.touched };
		r = 0;
	}
	arena_release(&search.arena);
	if (r < 0)
		return r;
	ready->array_bytes = found.bytes;
	ready->settled = found.settled;
	ready->cached = wish->llc_bytes && found.bytes < SIZING_CACHES * wish->llc_bytes;
	ready->pages = buffer_pages(&ready->buffer, found.bytes);
	return 0;
}

int ready_open(const struct ready_wish *wish, struct team *team, const struct kernel *kernel,
	       struct ready *ret, struct err *err)
{
	struct ready ready = { 0 };
	struct sizing sizing;
	int r = sizing_plan(wish->free_bytes, wish->llc_bytes, wish->last_bytes, &sizing);

	if (r < 0)
		return err_set(err, ENOMEM, "numa:%u has only %llu MiB of memory to spare",
			       wish->node->id, (unsigned long long)(wish->free_bytes >> 20));
	r = map(wish, &sizing, &ready.buffer, err);
	if (r < 0)
		return r;
	r = find_size(wish, team, kernel, &sizing, &ready);
	if (r < 0)
		r = err_set(err, ETIME, "the budget is too short to prepare the memory of numa:%u",
			    wish->node->id);
	else
		r = buffer_verify(&ready.buffer, ready.array_bytes, wish->only_node, err);
	if (r < 0)
		buffer_close(&ready.buffer);
	else
		*ret = ready;
	return r;
}

void ready_close(struct ready *ready)
{
	buffer_close(&ready->buffer);
}
