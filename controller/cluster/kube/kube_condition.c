/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_condition.h"

#include <search.h>
#include <stdlib.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_patch.h"
#include "controller/cluster/kube/kube_path.h"
#include "lib/base/backoff.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/fnv.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

#define RETRY_BASE_US (5 * USEC_PER_SEC)

struct heartbeat {
	struct heartbeat *next; /* in the queue */
	struct kube_conditions *conditions;
	char *node, *reason, *message;
	int healthy;
	uint64_t since_us; /* real time; 0: node not read yet */
	uint64_t due_us;   /* monotonic */
	bool queued;
	bool stale; /* changed while a write was in flight */
	struct backoff backoff;
	struct cluster_call call;
	struct kube_request *request;
};

struct kube_conditions {
	struct kube_conditions_options options;
	void *tree; /* struct heartbeat, by node */
	size_t n;
	struct heartbeat *first, **last; /* due */
	size_t running, begun;		 /* in flight; started since the last tick */
};

static uint64_t mono_us(const struct kube_conditions *h)
{
	return h->options.mono_us();
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct heartbeat *)a)->node, ((const struct heartbeat *)b)->node);
}

static struct heartbeat *find(const struct kube_conditions *h, const char *node)
{
	CLEANUP(freep) char *name = xstrdup(node);
	const struct heartbeat key = { .node = name };
	struct heartbeat **found = tfind(&key, &h->tree, compare);

	return found ? *found : NULL;
}

static void answer(struct heartbeat *heartbeat, enum cluster_result result, const char *words,
		   uint64_t retry_us)
{
	const struct cluster_call call = heartbeat->call;

	heartbeat->call = (struct cluster_call){ 0 };
	cluster_answer(&call, &(struct cluster_answer){
				      .result = result, .words = words, .retry_us = retry_us });
}

static void heartbeat_free(void *p)
{
	struct heartbeat *heartbeat = p;

	kube_cancel(heartbeat->request);
	free(heartbeat->node);
	free(heartbeat->reason);
	free(heartbeat->message);
	free(heartbeat);
}

/* --- the queue --- */

static void enqueue(struct heartbeat *heartbeat, bool first)
{
	struct kube_conditions *h = heartbeat->conditions;

	if (heartbeat->queued)
		return;
	heartbeat->queued = true;
	heartbeat->next = first ? h->first : NULL;
	if (!h->first)
		h->last = &heartbeat->next;
	if (first || !h->first) {
		h->first = heartbeat;
		return;
	}
	*h->last = heartbeat;
	h->last = &heartbeat->next;
}

static void dequeue(struct heartbeat *heartbeat)
{
	struct kube_conditions *h = heartbeat->conditions;
	struct heartbeat **at = &h->first;

	if (!heartbeat->queued)
		return;
	while (*at != heartbeat)
		at = &(*at)->next;
	*at = heartbeat->next;
	if (!heartbeat->next)
		h->last = at;
	heartbeat->queued = false;
}

/* --- writing --- */

static void run(struct kube_conditions *h);

static void fail(struct heartbeat *heartbeat, enum cluster_result result, const char *words,
		 uint64_t retry_us)
{
	heartbeat->due_us =
		mono_us(heartbeat->conditions) +
		backoff_fail(&heartbeat->backoff, MAX(retry_us, RETRY_BASE_US), random_u64());
	answer(heartbeat, result, words, retry_us);
}

static void on_written(void *context, const struct kube_answer *a)
{
	struct heartbeat *heartbeat = context;
	struct kube_conditions *h = heartbeat->conditions;

	heartbeat->request = NULL;
	h->running--;
	if (a->result != CLUSTER_DONE) {
		fail(heartbeat, a->result, a->words, a->retry_us);
	} else {
		backoff_reset(&heartbeat->backoff);
		if (a->body)
			h->options.noted(h->options.context, a->body);
		if (!heartbeat->stale)
			answer(heartbeat, CLUSTER_DONE, "", 0);
	}
	if (heartbeat->stale)
		enqueue(heartbeat, true);
	run(h);
}

static void on_read(void *context, const struct kube_answer *a);

/* Read the node or, if its state is known, write the condition. */
static int send(struct heartbeat *heartbeat, struct err *err)
{
	struct kube_conditions *h = heartbeat->conditions;
	const struct cluster_condition condition = { heartbeat->node, heartbeat->healthy,
						     heartbeat->reason, heartbeat->message };
	CLEANUP(json_freep) json_t *body = NULL;
	char path[KUBE_PATH_MAX];
	struct kube_call call = { .path = path, .context = heartbeat };
	int r;

	if (heartbeat->since_us == 0) {
		call.method = "GET";
		call.done = on_read;
		r = kube_path(path, err, "/api/v1/nodes/%s", heartbeat->node);
	} else {
		body = kube_patch_condition(kube_names(h->options.kube), &condition,
					    h->options.real_us(), heartbeat->since_us);
		call.method = "PATCH";
		call.content = KUBE_STRATEGIC;
		call.body = body;
		call.timeout_us = KUBE_WRITE_TIMEOUT_S * USEC_PER_SEC;
		call.done = on_written;
		r = kube_path(path, err, "/api/v1/nodes/%s/status", heartbeat->node);
	}
	return r < 0 ? r : kube_send(h->options.kube, &call, &heartbeat->request, err);
}

/* Each node has a fixed offset in the five minutes, whenever it was last written. */
static uint64_t next_beat(const struct heartbeat *heartbeat, uint64_t now_us)
{
	const uint64_t place_us =
		KUBE_HEARTBEAT_US * fnv1a(heartbeat->node, strlen(heartbeat->node)) >> 32;
	const uint64_t beat_us = now_us - now_us % KUBE_HEARTBEAT_US + place_us;

	return beat_us > now_us ? beat_us : beat_us + KUBE_HEARTBEAT_US;
}

static void begin(struct heartbeat *heartbeat)
{
	struct kube_conditions *h = heartbeat->conditions;
	struct err err = ERR_INIT;

	heartbeat->stale = false;
	heartbeat->due_us = next_beat(heartbeat, mono_us(h));
	if (send(heartbeat, &err) < 0)
		fail(heartbeat, CLUSTER_AGAIN, err.msg, 0);
	else
		h->running++;
}

/* Since when the status has its current value, according to the node. */
static uint64_t since_of(const struct heartbeat *heartbeat, const json_t *raw)
{
	const json_t *condition =
		kube_condition_of(raw, kube_names(heartbeat->conditions->options.kube));
	const char *status = json_string_value(json_object_get(condition, "status"));
	const char *since = json_string_value(json_object_get(condition, "lastTransitionTime"));
	uint64_t since_us = 0;

	if (streq(status, kube_status_text(heartbeat->healthy)) && since &&
	    clock_parse_stamp(since, &since_us) == 0 && since_us > 0)
		return since_us;
	return heartbeat->conditions->options.real_us();
}

static void on_read(void *context, const struct kube_answer *a)
{
	struct heartbeat *heartbeat = context;
	struct kube_conditions *h = heartbeat->conditions;
	const char *stopped = h->options.stopped(h->options.context);

	heartbeat->request = NULL;
	h->running--;
	if (a->result != CLUSTER_DONE || stopped) {
		fail(heartbeat, stopped ? CLUSTER_AGAIN : a->result, stopped ? stopped : a->words,
		     a->retry_us);
	} else {
		heartbeat->since_us = since_of(heartbeat, a->body);
		begin(heartbeat);
	}
	run(h);
}

static void run(struct kube_conditions *h)
{
	/* Enough for all of them twice per heartbeat interval. */
	const size_t seconds = KUBE_HEARTBEAT_US / USEC_PER_SEC;
	const size_t most = MAX((size_t)KUBE_CONDITIONS_LEAST, 2 * h->n / seconds);

	if (h->options.stopped(h->options.context))
		return;
	while (h->first && h->running < KUBE_CONDITIONS_AT_ONCE && h->begun < most) {
		struct heartbeat *heartbeat = h->first;

		dequeue(heartbeat);
		h->begun++;
		begin(heartbeat);
	}
}

/* --- interface --- */

static struct heartbeat *need(struct kube_conditions *h, const char *node)
{
	struct heartbeat *heartbeat = find(h, node);

	if (heartbeat)
		return heartbeat;
	heartbeat = xcalloc(1, sizeof(*heartbeat));
	heartbeat->conditions = h;
	heartbeat->node = xstrdup(node);
	heartbeat->backoff =
		(struct backoff){ .base_us = RETRY_BASE_US, .cap_us = KUBE_HEARTBEAT_US };
	if (!tsearch(heartbeat, &h->tree, compare))
		abort(); /* out of memory */
	h->n++;
	return heartbeat;
}

void kube_conditions_tell(struct kube_conditions *h, const struct cluster_condition *condition,
			  const struct cluster_call *call)
{
	struct heartbeat *heartbeat = need(h, condition->node);

	answer(heartbeat, CLUSTER_AGAIN, "a newer condition replaced it before it was written", 0);
	if (heartbeat->since_us && heartbeat->healthy != condition->healthy)
		heartbeat->since_us = h->options.real_us();
	heartbeat->healthy = condition->healthy;
	free(heartbeat->reason);
	free(heartbeat->message);
	heartbeat->reason = xstrdup(condition->reason);
	heartbeat->message = xstrdup(condition->message);
	heartbeat->call = *call;
	if (heartbeat->request)
		heartbeat->stale = true;
	else
		enqueue(heartbeat, heartbeat->since_us != 0);
	run(h);
}

void kube_conditions_gone(struct kube_conditions *h, const char *node)
{
	struct heartbeat *heartbeat = find(h, node);

	if (!heartbeat)
		return;
	dequeue(heartbeat);
	h->running -= heartbeat->request != NULL;
	answer(heartbeat, CLUSTER_GONE, "there is no such node", 0);
	(void)tdelete(heartbeat, &h->tree, compare);
	h->n--;
	heartbeat_free(heartbeat);
}

static void look(const void *at, VISIT visit, void *context)
{
	struct heartbeat *heartbeat = *(struct heartbeat *const *)at;
	const uint64_t *now_us = context;

	if ((visit == preorder || visit == leaf) && !heartbeat->request &&
	    heartbeat->due_us <= *now_us)
		enqueue(heartbeat, false);
}

void kube_conditions_tick(struct kube_conditions *h)
{
	uint64_t now_us = mono_us(h);

	h->begun = 0;
	twalk_r(h->tree, look, &now_us);
	run(h);
}

struct kube_conditions *kube_conditions_new(const struct kube_conditions_options *options)
{
	struct kube_conditions *h = xcalloc(1, sizeof(*h));

	h->options = *options;
	h->last = &h->first;
	return h;
}

static void end(void *p)
{
	answer(p, CLUSTER_AGAIN, "the controller is stopping", 0);
	heartbeat_free(p);
}

void kube_conditions_free(struct kube_conditions *h)
{
	if (!h)
		return;
	tdestroy(h->tree, end);
	free(h);
}
