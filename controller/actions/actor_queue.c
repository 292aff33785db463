/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/actor_queue.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

void actor_queue_init(struct actor_queue *q,
		      void (*handle)(void *context, struct actor_event *event), void *context)
{
	*q = (struct actor_queue){ .handle = handle, .context = context };
}

/* --- events --- */

static const char *const *names_copy(const char *const *names, size_t n)
{
	char **copy = xcalloc(n + 1, sizeof(*copy));
	size_t i;

	for (i = 0; i < n; i++)
		copy[i] = xstrdup(names[i]);
	return (const char *const *)copy;
}

static void own_answer(struct actor_event *e)
{
	struct cluster_answer *a = &e->answer;

	if (a->node) {
		e->node = cluster_node_copy(a->node);
		a->node = &e->node;
	}
	a->words = xstrdup(a->words);
	a->version = xstrdup(a->version);
	e->ledger = ledger_reading_of(TAKE(a->text));
	a->jobs = names_copy(a->jobs, a->n_jobs);
}

static struct actor_event *event_copy(const struct actor_event *event)
{
	struct actor_event *e = xcalloc(1, sizeof(*e));

	*e = *event;
	e->next = NULL;
	e->about.node = xstrdup(event->about.node);
	e->words = xstrdup(event->words);
	e->blame = blame_copy(&event->blame);
	if (event->kind == ACTOR_NODE)
		e->node = cluster_node_copy(&event->node);
	own_answer(e);
	return e;
}

static void event_free(struct actor_event *e)
{
	size_t i;

	cluster_node_release(&e->node);
	for (i = 0; i < e->answer.n_jobs; i++)
		free((void *)(uintptr_t)e->answer.jobs[i]);
	free((void *)(uintptr_t)e->answer.jobs);
	free((void *)(uintptr_t)e->answer.words);
	free((void *)(uintptr_t)e->answer.version);
	ledger_reading_release(&e->ledger);
	free((void *)(uintptr_t)e->about.node);
	free(e->words);
	blame_release(&e->blame);
	free(e);
}

/* The first event is the one being handled; it is removed afterwards. */
static void handle_all(struct actor_queue *q)
{
	while (q->first) {
		struct actor_event *e = q->first;

		q->handle(q->context, e);
		q->first = e->next;
		event_free(e);
	}
}

void actor_queue_put(struct actor_queue *q, const struct actor_event *event)
{
	struct actor_event *e = event_copy(event);

	if (q->first) {
		q->last->next = e;
		q->last = e;
		return;
	}
	q->first = q->last = e;
	handle_all(q);
}

/* --- requests --- */

struct question {
	struct actor_queue *queue;
	unsigned starts;
	enum actor_event_kind kind;
	struct actor_about about; /* we own its node */
};

static void on_answer(void *context, const struct cluster_answer *answer)
{
	struct question *question = context;

	if (question->starts == question->queue->starts)
		actor_queue_put(question->queue, &(struct actor_event){ .kind = question->kind,
									.about = question->about,
									.answer = *answer });
	free((void *)(uintptr_t)question->about.node);
	free(question);
}

struct cluster_call actor_queue_call(struct actor_queue *q, enum actor_event_kind kind,
				     const struct actor_about *about)
{
	struct question *question = xcalloc(1, sizeof(*question));

	*question = (struct question){ q, q->starts, kind, *about };
	question->about.node = xstrdup(about->node);
	return (struct cluster_call){ on_answer, question };
}

void actor_queue_restart(struct actor_queue *q)
{
	q->starts++;
}
