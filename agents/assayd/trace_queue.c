/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/trace_queue.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

enum { GROW = 16 };

static bool same_window(const struct trace_queue_part *a, const struct trace_queue_part *b)
{
	return a->step == b->step && a->run == b->run && streq(a->job, b->job);
}

void trace_queue_remove(struct trace_queue *q, size_t i)
{
	q->bytes -= q->parts[i].size;
	memmove(&q->parts[i], &q->parts[i + 1], (q->n - i - 1) * sizeof(q->parts[0]));
	q->n--;
	if (q->n)
		return;
	free(TAKE(q->parts));
	q->alloc = 0;
}

/* Drop the whole window of `like`. */
static void drop_window(struct trace_queue *q, struct trace_queue_part like,
			void (*drop)(void *context, const struct trace_queue_part *part),
			void *context)
{
	size_t i = 0;

	while (i < q->n) {
		if (!same_window(&q->parts[i], &like)) {
			i++;
			continue;
		}
		drop(context, &q->parts[i]);
		trace_queue_remove(q, i);
	}
}

/* Number of other windows of its job. */
static size_t other_windows(const struct trace_queue *q, const struct trace_queue_part *part)
{
	size_t n = 0, i, k;

	for (i = 0; i < q->n; i++) {
		const struct trace_queue_part *other = &q->parts[i];

		if (!streq(other->job, part->job) || same_window(other, part))
			continue;
		for (k = 0; k < i && !same_window(&q->parts[k], other); k++)
			;
		n += k == i;
	}
	return n;
}

/* The oldest part of another window, of the same job or any; q->n: none. */
static size_t oldest_other(const struct trace_queue *q, const struct trace_queue_part *part,
			   bool any_job)
{
	size_t oldest = q->n, i;

	for (i = 0; i < q->n; i++) {
		const struct trace_queue_part *other = &q->parts[i];

		if (same_window(other, part) || (!any_job && !streq(other->job, part->job)))
			continue;
		if (oldest == q->n || other->since_us < q->parts[oldest].since_us)
			oldest = i;
	}
	return oldest;
}

enum trace_refusal trace_queue_add(struct trace_queue *q, const struct trace_queue_part *part,
				   void (*drop)(void *context, const struct trace_queue_part *part),
				   void *context)
{
	size_t i, oldest;

	for (i = 0; i < q->n; i++) {
		if (same_window(&q->parts[i], part) && q->parts[i].part == part->part)
			return TRACE_TWICE;
	}
	while (other_windows(q, part) >= TRACE_QUEUE_WINDOWS)
		drop_window(q, q->parts[oldest_other(q, part, false)], drop, context);
	while (q->bytes + part->size > q->bytes_max || q->n == TRACE_QUEUE_PARTS) {
		oldest = oldest_other(q, part, true);
		if (oldest == q->n)
			return TRACE_STALE;
		drop_window(q, q->parts[oldest], drop, context);
	}
	if (q->n == q->alloc) {
		q->alloc += GROW;
		q->parts = xrealloc(q->parts, q->alloc, sizeof(q->parts[0]));
	}
	q->parts[q->n++] = *part;
	q->bytes += part->size;
	return TRACE_TAKEN;
}

void trace_queue_release(struct trace_queue *q)
{
	free(TAKE(q->parts));
	q->n = q->alloc = 0;
	q->bytes = 0;
}
