/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_heart.h"

#include <search.h>
#include <stdlib.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_patch.h"
#include "lib/base/backoff.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/fnv.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

#define RETRY_BASE_US (5 * USEC_PER_SEC)

struct heart {
	struct heart *next; /* in the queue */
	struct kube_hearts *hearts;
	char *node, *reason, *message;
	int healthy;
	uint64_t since_us; /* real time; 0: the node has not been read yet */
	uint64_t due_us;   /* monotonic */
	bool queued;
	bool stale; /* told anew while a writing was under way */
	struct backoff backoff;
	struct cluster_call call;
	struct kube_request *request;
};

struct kube_hearts {
	struct kube_hearts_options options;
	void *tree; /* of struct heart, by node */
	size_t n;
	struct heart *first, **last; /* due */
	size_t running, begun;	     /* under way; since the last tick */
};

static uint64_t mono_us(const struct kube_hearts *h)
{
	return h->options.mono_us();
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct heart *)a)->node, ((const struct heart *)b)->node);
}

static struct heart *find(const struct kube_hearts *h, const char *node)
{
	CLEANUP(freep) char *name = xstrdup(node);
	const struct heart key = { .node = name };
	struct heart **found = tfind(&key, &h->tree, compare);

	return found ? *found : NULL;
}

static void answer(struct heart *heart, enum cluster_result result, const char *words,
		   uint64_t retry_us)
{
	const struct cluster_call call = heart->call;

	heart->call = (struct cluster_call){ 0 };
	cluster_answer(&call, &(struct cluster_answer){
				      .result = result, .words = words, .retry_us = retry_us });
}

static void heart_free(void *p)
{
	struct heart *heart = p;

	kube_cancel(heart->request);
	free(heart->node);
	free(heart->reason);
	free(heart->message);
	free(heart);
}

/* --- the queue --- */

static void enqueue(struct heart *heart, bool first)
{
	struct kube_hearts *h = heart->hearts;

	if (heart->queued)
		return;
	heart->queued = true;
	heart->next = first ? h->first : NULL;
	if (!h->first)
		h->last = &heart->next;
	if (first || !h->first) {
		h->first = heart;
		return;
	}
	*h->last = heart;
	h->last = &heart->next;
}

static void dequeue(struct heart *heart)
{
	struct kube_hearts *h = heart->hearts;
	struct heart **at = &h->first;

	if (!heart->queued)
		return;
	while (*at != heart)
		at = &(*at)->next;
	*at = heart->next;
	if (!heart->next)
		h->last = at;
	heart->queued = false;
}

/* --- writing --- */

static void run(struct kube_hearts *h);

static void fail(struct heart *heart, enum cluster_result result, const char *words,
		 uint64_t retry_us)
{
	heart->due_us = mono_us(heart->hearts) +
			backoff_fail(&heart->backoff, MAX(retry_us, RETRY_BASE_US), random_u64());
	answer(heart, result, words, retry_us);
}

static void on_written(void *context, const struct kube_answer *a)
{
	struct heart *heart = context;
	struct kube_hearts *h = heart->hearts;

	heart->request = NULL;
	h->running--;
	if (a->result != CLUSTER_DONE) {
		fail(heart, a->result, a->words, a->retry_us);
	} else {
		backoff_reset(&heart->backoff);
		if (a->body)
			h->options.noted(h->options.context, a->body);
		if (!heart->stale)
			answer(heart, CLUSTER_DONE, "", 0);
	}
	if (heart->stale)
		enqueue(heart, true);
	run(h);
}

static void on_read(void *context, const struct kube_answer *a);

/* Read the node, or with what it says known write the condition. */
static int send(struct heart *heart, struct err *err)
{
	struct kube_hearts *h = heart->hearts;
	const struct cluster_condition condition = { heart->node, heart->healthy, heart->reason,
						     heart->message };
	CLEANUP(json_freep) json_t *body = NULL;
	char path[KUBE_PATH_MAX];
	struct kube_call call = { .path = path, .context = heart };
	int r;

	if (heart->since_us == 0) {
		call.method = "GET";
		call.done = on_read;
		r = kube_path(path, err, "/api/v1/nodes/%s", heart->node);
	} else {
		body = kube_patch_condition(kube_names(h->options.kube), &condition,
					    h->options.real_us(), heart->since_us);
		call.method = "PATCH";
		call.content = KUBE_STRATEGIC;
		call.body = body;
		call.timeout_us = KUBE_WRITE_TIMEOUT_S * USEC_PER_SEC;
		call.done = on_written;
		r = kube_path(path, err, "/api/v1/nodes/%s/status", heart->node);
	}
	return r < 0 ? r : kube_send(h->options.kube, &call, &heart->request, err);
}

/* Each node has a place of its own in the five minutes, whenever it was last written. */
static uint64_t next_beat(const struct heart *heart, uint64_t now_us)
{
	const uint64_t place_us = KUBE_HEARTBEAT_US * fnv1a(heart->node, strlen(heart->node)) >> 32;
	const uint64_t beat_us = now_us - now_us % KUBE_HEARTBEAT_US + place_us;

	return beat_us > now_us ? beat_us : beat_us + KUBE_HEARTBEAT_US;
}

static void begin(struct heart *heart)
{
	struct kube_hearts *h = heart->hearts;
	struct err err = ERR_INIT;

	heart->stale = false;
	heart->due_us = next_beat(heart, mono_us(h));
	if (send(heart, &err) < 0)
		fail(heart, CLUSTER_AGAIN, err.msg, 0);
	else
		h->running++;
}

/* Of the node as it is: since when the status is what we say it is. */
static uint64_t since_of(const struct heart *heart, const json_t *raw)
{
	const json_t *condition = kube_condition_of(raw, kube_names(heart->hearts->options.kube));
	const char *status = json_string_value(json_object_get(condition, "status"));
	const char *since = json_string_value(json_object_get(condition, "lastTransitionTime"));
	uint64_t since_us = 0;

	if (streq(status, kube_status_text(heart->healthy)) && since &&
	    clock_parse_stamp(since, &since_us) == 0 && since_us > 0)
		return since_us;
	return heart->hearts->options.real_us();
}

static void on_read(void *context, const struct kube_answer *a)
{
	struct heart *heart = context;
	struct kube_hearts *h = heart->hearts;
	const char *stopped = h->options.stopped(h->options.context);

	heart->request = NULL;
	h->running--;
	if (a->result != CLUSTER_DONE || stopped) {
		fail(heart, stopped ? CLUSTER_AGAIN : a->result, stopped ? stopped : a->words,
		     a->retry_us);
	} else {
		heart->since_us = since_of(heart, a->body);
		begin(heart);
	}
	run(h);
}

static void run(struct kube_hearts *h)
{
	/* All of them twice in the time between two heartbeats. */
	const size_t seconds = KUBE_HEARTBEAT_US / USEC_PER_SEC;
	const size_t most = MAX((size_t)KUBE_HEARTS_LEAST, 2 * h->n / seconds);

	if (h->options.stopped(h->options.context))
		return;
	while (h->first && h->running < KUBE_HEARTS_AT_ONCE && h->begun < most) {
		struct heart *heart = h->first;

		dequeue(heart);
		h->begun++;
		begin(heart);
	}
}

/* --- what is asked --- */

static struct heart *need(struct kube_hearts *h, const char *node)
{
	struct heart *heart = find(h, node);

	if (heart)
		return heart;
	heart = xcalloc(1, sizeof(*heart));
	heart->hearts = h;
	heart->node = xstrdup(node);
	heart->backoff = (struct backoff){ .base_us = RETRY_BASE_US, .cap_us = KUBE_HEARTBEAT_US };
	if (!tsearch(heart, &h->tree, compare))
		abort(); /* out of memory */
	h->n++;
	return heart;
}

void kube_hearts_tell(struct kube_hearts *h, const struct cluster_condition *condition,
		      const struct cluster_call *call)
{
	struct heart *heart = need(h, condition->node);

	answer(heart, CLUSTER_AGAIN, "another condition was told before it was written", 0);
	if (heart->since_us && heart->healthy != condition->healthy)
		heart->since_us = h->options.real_us();
	heart->healthy = condition->healthy;
	free(heart->reason);
	free(heart->message);
	heart->reason = xstrdup(condition->reason);
	heart->message = xstrdup(condition->message);
	heart->call = *call;
	if (heart->request)
		heart->stale = true;
	else
		enqueue(heart, heart->since_us != 0);
	run(h);
}

void kube_hearts_gone(struct kube_hearts *h, const char *node)
{
	struct heart *heart = find(h, node);

	if (!heart)
		return;
	dequeue(heart);
	h->running -= heart->request != NULL;
	answer(heart, CLUSTER_GONE, "there is no such node", 0);
	(void)tdelete(heart, &h->tree, compare);
	h->n--;
	heart_free(heart);
}

static void look(const void *at, VISIT visit, void *context)
{
	struct heart *heart = *(struct heart *const *)at;
	const uint64_t *now_us = context;

	if ((visit == preorder || visit == leaf) && !heart->request && heart->due_us <= *now_us)
		enqueue(heart, false);
}

void kube_hearts_tick(struct kube_hearts *h)
{
	uint64_t now_us = mono_us(h);

	h->begun = 0;
	twalk_r(h->tree, look, &now_us);
	run(h);
}

struct kube_hearts *kube_hearts_new(const struct kube_hearts_options *options)
{
	struct kube_hearts *h = xcalloc(1, sizeof(*h));

	h->options = *options;
	h->last = &h->first;
	return h;
}

static void end(void *p)
{
	answer(p, CLUSTER_AGAIN, "the controller ends", 0);
	heart_free(p);
}

void kube_hearts_free(struct kube_hearts *h)
{
	if (!h)
		return;
	tdestroy(h->tree, end);
	free(h);
}
