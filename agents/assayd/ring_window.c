/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/ring_window.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

enum { OPS_AT_FIRST = 256 };

struct ring_window *ring_window_new(void)
{
	struct ring_window *w = xcalloc(1, sizeof(*w));

	w->after = -1;
	return w;
}

void ring_window_clear(struct ring_window *w)
{
	size_t i;

	for (i = 0; i < w->n_rings; i++)
		free(w->rings[i].ops);
	memset(w->rings, 0, sizeof(w->rings));
	w->n_rings = w->n_ops = w->attempted_n_ops = 0;
	w->attempted_us = 0;
}

void ring_window_free(void *window)
{
	struct ring_window *w = window;

	if (!w)
		return;
	ring_window_clear(w);
	free(w);
}

static void end(struct ring_window *w)
{
	ring_window_clear(w);
	w->over = true;
}

void ring_window_turn(struct ring_window *w, uint64_t turn)
{
	if (w->turn == turn)
		return;
	ring_window_clear(w);
	w->turn = turn;
	w->over = false;
}

/* Index of a ring; n_rings: not found. */
static size_t find(const struct ring_window *w, uint64_t id)
{
	size_t i;

	for (i = 0; i < w->n_rings && w->rings[i].id != id; i++)
		;
	return i;
}

uint64_t ring_window_from(const struct ring_window *w, uint64_t id)
{
	const size_t i = find(w, id);

	return i < w->n_rings ? w->rings[i].from : 0;
}

static void append(struct ring_gathered *g, const struct ring_op *op)
{
	if (g->n == g->alloc) {
		g->alloc = MAX(2 * g->alloc, (size_t)OPS_AT_FIRST);
		g->ops = xrealloc(g->ops, g->alloc, sizeof(*g->ops));
	}
	g->ops[g->n++] = *op;
}

/* Rereads replace what was read before. */
static void take(struct ring_gathered *g, const struct ring_op *ops, size_t n, uint64_t since_ns)
{
	bool ended = true;
	size_t i;

	while (g->n && g->ops[g->n - 1].number >= g->from)
		g->n--;
	for (i = 0; i < n; i++) {
		if (ops[i].enqueued_ns < since_ns)
			continue;
		ended = ended && (ops[i].flags & RING_DONE);
		append(g, &ops[i]);
		if (ended)
			g->from = ops[i].number + 1;
	}
}

void ring_window_add(struct ring_window *w, uint64_t id, const struct ring_comm *comm,
		     const struct ring_op *ops, size_t n, uint64_t since_ns)
{
	const size_t i = find(w, id);
	struct ring_gathered *g = &w->rings[i];
	size_t was;

	if (w->over)
		return;
	if (i == RING_WINDOW_RINGS_MAX) {
		end(w);
		return;
	}
	if (i == w->n_rings) {
		*g = (struct ring_gathered){ .id = id };
		w->n_rings++;
	}
	g->comm = *comm;
	was = g->n;
	take(g, ops, n, since_ns);
	w->n_ops = w->n_ops - was + g->n;
	if (w->n_ops > RING_WINDOW_OPS_MAX)
		end(w);
}

bool ring_window_is_due(const struct ring_window *w, uint64_t now_us)
{
	return !w->over && w->n_ops > w->attempted_n_ops + w->attempted_n_ops / 8 &&
	       now_us >= w->attempted_us + RING_WINDOW_AGAIN_US;
}

int ring_window_make(struct ring_window *w, const struct trace_place *place, unsigned steps,
		     uint64_t now_us, struct ring_part *ret, struct err *err)
{
	const struct ring_shape shape = { place->dp, place->pp, place->tp, place->rank };
	const struct ring_optrace_options options = {
		.job = place->job, .steps = steps, .every = steps, .after = w->after
	};
	struct ring_view views[RING_WINDOW_RINGS_MAX];
	size_t i;
	int r;

	for (i = 0; i < w->n_rings; i++)
		views[i] = (struct ring_view){ &w->rings[i].comm, w->rings[i].ops, w->rings[i].n };
	w->attempted_us = now_us;
	w->attempted_n_ops = w->n_ops;
	r = ring_optrace(views, w->n_rings, &shape, &options, ret, err);
	/* With too few operations no steps are found yet; more may follow. */
	if (r == -ENODATA || r == -EAGAIN)
		return -EAGAIN;
	end(w);
	if (r == 0)
		w->after = ret->last_step;
	return r;
}
