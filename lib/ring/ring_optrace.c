/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ring/ring_optrace.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/ring/ring_clock.h"
#include "lib/ring/ring_spans.h"
#include "lib/ring/ring_steps.h"

enum { US = 1000000, NAME_MAX_BYTES = 256 };

static int check(const struct ring_shape *shape, const struct ring_optrace_options *o,
		 struct err *err)
{
	int r = ring_kind_check_shape(shape, err);

	if (r < 0)
		return r;
	if (o->steps < RING_STEPS_MIN || o->steps > RING_OPTRACE_STEPS_MAX)
		return err_set(err, EINVAL, "%u steps in a part: expected %d to %d", o->steps,
			       RING_STEPS_MIN, RING_OPTRACE_STEPS_MAX);
	if (o->every && o->every < o->steps)
		return err_set(err, EINVAL, "a part of %u steps every %u steps", o->steps, o->every);
	if (ring_shape_tensor(shape) != 0)
		return err_set(err, ENOTUNIQ,
			       "rank %" PRId64 " is a peer within a tensor-parallel group",
			       shape->rank);
	return 0;
}

/* --- selecting steps --- */

struct window {
	size_t first, n; /* among the whole steps */
};

/* Steps numbered from `from` to before `to`. */
static struct window between(const struct ring_steps *s, int64_t from, int64_t to)
{
	struct window w = { 0, 0 };

	while (w.first < s->n_steps && s->steps[w.first].number < from)
		w.first++;
	while (w.first + w.n < s->n_steps && s->steps[w.first + w.n].number < to)
		w.n++;
	return w;
}

/*
 * The oldest complete window whose beginning this process saw: so all hosts select the same ones,
 * in the same order.
 */
static struct window aligned(const struct ring_steps *s, const struct ring_optrace_options *o)
{
	const int64_t every = o->every, oldest = MAX(s->steps[0].number, o->after + 1);
	const int64_t newest = s->steps[s->n_steps - 1].number;
	int64_t from = (oldest + every - 1) / every * every;

	for (; from + o->steps <= newest; from += every) {
		const struct window w = between(s, from, from + o->steps);

		if (w.n >= RING_STEPS_MIN)
			return w;
	}
	return (struct window){ 0, 0 };
}

static struct window newest(const struct ring_steps *s, const struct ring_optrace_options *o)
{
	struct window w = between(s, o->after + 1, INT64_MAX);

	if (w.n > o->steps) {
		w.first += w.n - o->steps;
		w.n = o->steps;
	}
	return w.n == o->steps ? w : (struct window){ 0, 0 };
}

/* --- lines --- */

struct writer {
	struct ring_part *part;
	const struct ring_shape *shape;
	uint64_t origin_ns; /* 0 of the spans, since 1970 */
	double first, last; /* seconds from it */
};

static void put_name(struct strbuf *sb, const char *name)
{
	size_t i;

	for (i = 0; name[i] && i < NAME_MAX_BYTES; i++) {
		const char c = name[i];

		if (c == '"' || c == '\\')
			(void)strbuf_printf(sb, "\\%c", c);
		else if ((unsigned char)c >= ' ')
			(void)strbuf_add(sb, &c, 1);
	}
}

/* As assay-optrace --part writes it: identical in all parts of a job. */
static void put_meta(struct strbuf *sb, const struct ring_shape *s, const char *job)
{
	(void)strbuf_puts(sb, "{\"type\": \"meta\", \"format\": \"optrace/1\", \"job\": \"");
	put_name(sb, job);
	(void)strbuf_printf(sb,
			    "\", \"dp_size\": %u, \"pp_size\": %u, \"tp_size\": %u, \"vpp_size\": "
			    "1, \"dsp_size\": 1, \"world_size\": %u, \"time_unit\": \"s\"}\n",
			    s->dp, s->pp, s->tp, s->dp * s->pp * s->tp);
}

/* In microseconds, the resolution of a GPU's timer. */
static void put_span(struct writer *w, const struct ring_span *span, int64_t step, unsigned seq)
{
	const struct ring_shape *s = w->shape;
	const bool compute = span->work == RING_WORK_FORWARD || span->work == RING_WORK_BACKWARD;
	const bool chunk = compute || span->work == RING_WORK_PARAMS ||
			   span->work == RING_WORK_GRADS;
	const int64_t origin_us = (int64_t)(w->origin_ns / 1000);
	const int64_t start = origin_us + llround(span->start * US);
	const int64_t end = MAX(origin_us + llround(span->end * US), start);
	struct strbuf *sb = &w->part->text;

	(void)strbuf_printf(sb,
			    "{\"step\":%" PRId64 ",\"dp_rank\":%u,\"stage\":%u,\"rank\":%" PRId64
			    ",\"optype\":\"%s\",\"seq_id\":%u",
			    step, ring_shape_replica(s), ring_shape_stage(s), s->rank,
			    ring_work_names[span->work], seq);
	if (compute)
		(void)strbuf_printf(sb, ",\"mb_id\":%u", seq);
	if (chunk)
		(void)strbuf_puts(sb, ",\"mc\":0");
	if (compute)
		(void)strbuf_printf(sb, ",\"gmc\":%u", ring_shape_stage(s));
	(void)strbuf_printf(sb,
			    ",\"start_ts\":%" PRId64 ".%06" PRId64 ",\"duration\":%" PRId64
			    ".%06" PRId64 "}\n",
			    start / US, start % US, (end - start) / US, (end - start) % US);
	w->first = MIN(w->first, span->start);
	w->last = MAX(w->last, span->end);
	w->part->n_lines++;
	w->part->n_collectives += span->stands_for;
}

static int by_start(const void *a, const void *b)
{
	const struct ring_span *left = a, *right = b;

	if (left->work != right->work)
		return left->work < right->work ? -1 : 1;
	return (left->start > right->start) - (left->start < right->start);
}

/* Numbered by start within each type. */
static void put_step(struct writer *w, struct ring_spans *spans, int64_t step)
{
	unsigned seq = 0;
	size_t i;

	qsort(spans->list, spans->n, sizeof(spans->list[0]), by_start);
	for (i = 0; i < spans->n; i++) {
		seq = i > 0 && spans->list[i - 1].work == spans->list[i].work ? seq + 1 : 0;
		put_span(w, &spans->list[i], step, seq);
	}
}

static int put_window(struct writer *w, const struct ring_spans_job *job, struct window window,
		      const char *name, struct err *err)
{
	CLEANUP(freep) struct ring_spans *spans = xcalloc(1, sizeof(*spans));
	const struct ring_step *steps = job->steps->steps + window.first;
	size_t i;
	int r;

	put_meta(&w->part->text, w->shape, name);
	for (i = 0; i < window.n; i++) {
		r = ring_spans_of(job, &steps[i], spans, err);
		if (r < 0)
			return r;
		put_step(w, spans, steps[i].number);
	}
	if (!strbuf_ok(&w->part->text))
		return err_set(err, ENODATA, "%zu steps take more than %d bytes", window.n,
			       RING_OPTRACE_PART_MAX);
	w->part->step = steps[0].number;
	w->part->last_step = steps[window.n - 1].number;
	w->part->n_steps = window.n;
	return 0;
}

int ring_optrace(const struct ring_view *rings, size_t n, const struct ring_shape *shape,
		 const struct ring_optrace_options *options, struct ring_part *ret, struct err *err)
{
	CLEANUP(ring_part_release)
	struct ring_part part = { .text = STRBUF_INIT(RING_OPTRACE_PART_MAX) };
	CLEANUP(ring_steps_release) struct ring_steps steps = { .ops = NULL };
	struct ring_spans_job job = { .steps = &steps, .shape = *shape };
	struct writer writer = { &part, shape, 0, INFINITY, -INFINITY };
	struct window window;
	int r = check(shape, options, err);

	if (r == 0)
		r = ring_steps_find(rings, n, shape, &steps, err);
	if (r < 0)
		return r;
	window = options->every ? aligned(&steps, options) : newest(&steps, options);
	if (window.n == 0)
		return err_set(err, EAGAIN, "%zu whole steps, up to %" PRId64 ": the next %u wait",
			       steps.n_steps, steps.steps[steps.n_steps - 1].number, options->steps);
	job.clock.base = steps.ops[steps.steps[0].first].op->gpu_start_ns;
	r = ring_clock_host(rings, n, job.clock.base, rings[0].comm->mono_ns, &job.clock.ahead, err);
	if (r < 0)
		return r;
	writer.origin_ns = rings[0].comm->real_ns;
	ring_spans_prepare(&job);
	r = put_window(&writer, &job, window, options->job, err);
	if (r < 0)
		return r;
	part.part = ring_shape_stage(shape) * shape->dp + ring_shape_replica(shape) + 1;
	part.of = shape->dp * shape->pp;
	part.first_s = (double)writer.origin_ns / 1e9 + writer.first;
	part.last_s = (double)writer.origin_ns / 1e9 + writer.last;
	part.left_out = steps.left_out;
	part.clock_us = job.clock.ahead.iqr / 1000;
	*ret = part;
	part = (struct ring_part){ .n_steps = 0 };
	return 0;
}
