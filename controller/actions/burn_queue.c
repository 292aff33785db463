/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/burn_queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

static void release_ask(struct burn_ask *a)
{
	free(a->node);
	free(a->domain);
}

void burn_queue_release(struct burn_queue *q)
{
	size_t i;

	for (i = 0; i < q->n; i++)
		release_ask(&q->asks[i]);
	free(q->asks);
	*q = (struct burn_queue){ 0 };
}

static struct burn_ask *find(const struct burn_queue *q, const char *node)
{
	size_t i = 0;

	while (i < q->n && !streq(q->asks[i].node, node))
		i++;
	return i < q->n ? &q->asks[i] : NULL;
}

int burn_queue_add(struct burn_queue *q, const char *node, const char *domain, uint64_t now_us,
		   struct err *err)
{
	if (find(q, node))
		return err_set(err, EALREADY, "%s is already burning, or waiting to burn", node);
	if (q->n == BURN_QUEUE_MAX)
		return err_set(err, EDQUOT, "%d hosts are already waiting to burn", BURN_QUEUE_MAX);
	q->asks = xrealloc(q->asks, q->n + 1, sizeof(*q->asks));
	q->asks[q->n++] = (struct burn_ask){ .node = xstrdup(node),
					     .domain = xstrdup(domain),
					     .asked_us = now_us };
	return 0;
}

bool burn_queue_may(const struct burn_queue *q, const char *node, uint64_t now_us)
{
	const struct burn_ask *ask = find(q, node);
	size_t burning = 0, i;

	if (!ask || ask->begun_us)
		return false;
	for (i = 0; i < q->n; i++) {
		const struct burn_ask *other = &q->asks[i];

		if (!other->begun_us || !streq(other->domain, ask->domain))
			continue;
		burning++;
		if (now_us < other->begun_us + BURN_APART_US)
			return false;
	}
	return burning < BURN_RACK_MAX;
}

void burn_queue_begin(struct burn_queue *q, const char *node, const char *id, uint64_t now_us)
{
	struct burn_ask *ask = find(q, node);

	if (!ask)
		return;
	ask->begun_us = now_us;
	(void)snprintf(ask->id, sizeof(ask->id), "%s", id);
}

static void drop(struct burn_queue *q, size_t i)
{
	release_ask(&q->asks[i]);
	memmove(&q->asks[i], &q->asks[i + 1], (q->n - i - 1) * sizeof(*q->asks));
	q->n--;
}

bool burn_queue_answered(struct burn_queue *q, const char *node, const char *id)
{
	const struct burn_ask *ask = find(q, node);

	if (!ask || !ask->begun_us || !streq(ask->id, id))
		return false;
	drop(q, (size_t)(ask - q->asks));
	return true;
}

void burn_queue_drop(struct burn_queue *q, const char *node)
{
	const struct burn_ask *ask = find(q, node);

	if (ask)
		drop(q, (size_t)(ask - q->asks));
}

size_t burn_queue_expire(struct burn_queue *q, uint64_t now_us)
{
	size_t gone = 0, i = 0;

	while (i < q->n) {
		const struct burn_ask *a = &q->asks[i];
		const uint64_t end_us = a->begun_us ? a->begun_us + BURN_ORDER_US
						    : a->asked_us + BURN_WAIT_US;

		if (now_us < end_us) {
			i++;
			continue;
		}
		drop(q, i);
		gone++;
	}
	return gone;
}

size_t burn_queue_before(const struct burn_queue *q, const char *node)
{
	const struct burn_ask *ask = find(q, node);
	size_t n = 0, i;

	for (i = 0; ask && &q->asks[i] != ask; i++)
		n += streq(q->asks[i].domain, ask->domain);
	return n;
}
