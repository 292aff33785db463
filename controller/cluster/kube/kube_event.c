/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_patch.h"
#include "controller/cluster/kube/kube_path.h"
#include "controller/cluster/kube/kube_placement.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

#define EVENTS_PATH "/api/v1/namespaces/%s/events"
#define NODES_NAMESPACE "default"
#define REFILL_US (5 * USEC_PER_MIN) /* interval of events per node after the burst */
#define REMEMBERED_US USEC_PER_HOUR  /* --event-ttl of a server */
#define RETRY_US (5 * USEC_PER_SEC)

/* An event, and what the server has of it. */
struct told {
	struct kube_events *events;
	char name[KUBE_EVENT_NAME_SIZE];
	char *node, *uid, *reason, *message;
	bool warning, owner; /* as in struct kube_event */
	uint64_t first_us, last_us;
	unsigned count, tries;
	bool known;	   /* the server has it */
	bool dirty;	   /* the server lacks the newest state */
	uint64_t again_us; /* monotonic: earliest next attempt */
	struct kube_request *request;
};

struct bucket {
	char *node;
	double tokens;
	uint64_t at_us; /* monotonic */
};

struct kube_events {
	struct kube_events_options options;
	struct told *told[KUBE_EVENTS_MAX];
	size_t n_told, running;
	struct bucket *buckets;
	size_t n_buckets;
	unsigned number;
	uint64_t lost;
};

static uint64_t mono_us(const struct kube_events *e)
{
	return e->options.mono_us();
}

/* --- pure --- */

void kube_event_name(char ret[static KUBE_EVENT_NAME_SIZE], const char *node, uint64_t real_us,
		     unsigned number)
{
	const size_t room = KUBE_EVENT_NAME_SIZE - 1 - 17; /* '.' and 16 digits */
	size_t n = strnlen(node, room);

	while (n > 1 && (node[n - 1] == '.' || node[n - 1] == '-'))
		n--;
	(void)snprintf(ret, KUBE_EVENT_NAME_SIZE, "%.*s.%016" PRIx64, (int)n, node,
		       real_us * 1000 + number % 1000);
}

static const char *namespace_of(const char *node, bool owner)
{
	return owner ? node : NODES_NAMESPACE;
}

json_t *kube_event_body(const struct kube_event *event)
{
	const char *namespace = namespace_of(event->node, event->owner);
	char first[KUBE_TIME_SIZE], last[KUBE_TIME_SIZE];

	kube_time(event->first_us, first);
	kube_time(event->last_us, last);
	/*
	 * Without namespace of the node: `kubectl describe node` looks for those. For an object in
	 * another namespace than "default" the server requires it.
	 */
	return json_pack(
		"{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s*, s:s*}, s:s, s:s, s:s, "
		"s:{s:s}, s:s, s:s, s:s, s:i}",
		"apiVersion", "v1", "kind", "Event", "metadata", "name", event->name, "namespace",
		namespace, "involvedObject", "apiVersion", "v1", "kind",
		event->owner ? "Namespace" : "Node", "name", event->node, "uid", event->uid,
		"namespace", event->owner ? namespace : NULL, "reason", event->reason, "message",
		event->message, "type", event->warning ? "Warning" : "Normal", "source",
		"component", KUBE_FIELD_MANAGER, "reportingComponent", KUBE_FIELD_MANAGER,
		"firstTimestamp", first, "lastTimestamp", last, "count", (int)event->count);
}

json_t *kube_event_repeat(const struct kube_event *event)
{
	char last[KUBE_TIME_SIZE];

	kube_time(event->last_us, last);
	return json_pack("{s:i, s:s}", "count", (int)event->count, "lastTimestamp", last);
}

/* --- the rate of a node --- */

static struct bucket *bucket_of(struct kube_events *e, const char *node)
{
	struct bucket *oldest = NULL;
	size_t i;

	for (i = 0; i < e->n_buckets; i++) {
		if (streq(e->buckets[i].node, node))
			return &e->buckets[i];
		if (!oldest || e->buckets[i].at_us < oldest->at_us)
			oldest = &e->buckets[i];
	}
	if (e->n_buckets < KUBE_EVENT_NODES_MAX) {
		e->buckets = xrealloc(e->buckets, e->n_buckets + 1, sizeof(*e->buckets));
		oldest = &e->buckets[e->n_buckets++];
	} else {
		free(oldest->node);
	}
	*oldest = (struct bucket){ xstrdup(node), KUBE_EVENT_BURST, mono_us(e) };
	return oldest;
}

static bool may_tell(struct kube_events *e, const char *node)
{
	struct bucket *b = bucket_of(e, node);
	const uint64_t now_us = mono_us(e);

	b->tokens += (double)(now_us - b->at_us) / (double)REFILL_US;
	b->tokens = MIN(b->tokens, (double)KUBE_EVENT_BURST);
	b->at_us = now_us;
	if (b->tokens < 1)
		return false;
	b->tokens--;
	return true;
}

/* --- past events --- */

static void told_free(struct told *t)
{
	kube_cancel(t->request);
	free(t->node);
	free(t->uid);
	free(t->reason);
	free(t->message);
	free(t);
}

static void forget(struct kube_events *e, size_t i)
{
	told_free(e->told[i]);
	e->told[i] = e->told[--e->n_told];
}

/* The oldest one without a request in flight makes room. Returns false if there is none. */
static bool make_room(struct kube_events *e)
{
	size_t oldest = e->n_told, i;

	if (e->n_told < KUBE_EVENTS_MAX)
		return true;
	for (i = 0; i < e->n_told; i++) {
		if (!e->told[i]->request &&
		    (oldest == e->n_told || e->told[i]->last_us < e->told[oldest]->last_us))
			oldest = i;
	}
	if (oldest == e->n_told)
		return false;
	e->lost += e->told[oldest]->dirty;
	forget(e, oldest);
	return true;
}

static void name_anew(struct told *t, uint64_t now_us)
{
	kube_event_name(t->name, t->node, now_us, t->events->number++);
	t->first_us = now_us;
	t->count = 1;
	t->known = false;
}

static struct told *find(struct kube_events *e, const struct cluster_event *event, const char *node,
			 const char *message, uint64_t now_us)
{
	size_t i;

	for (i = 0; i < e->n_told; i++) {
		struct told *t = e->told[i];

		if (t->warning == event->warning && t->owner == (event->job != NULL) &&
		    streq(t->node, node) && streq(t->reason, event->reason) &&
		    streq(t->message, message) && now_us - t->last_us < REMEMBERED_US)
			return t;
	}
	return NULL;
}

static void pump(struct kube_events *e);

/* The node, or the job's namespace. New memory; NULL: the job has no valid namespace. */
static char *subject_of(const struct cluster_event *event)
{
	const char *slash = event->job ? strchr(event->job, '/') : NULL;

	if (!event->job)
		return xstrdup(event->node);
	return slash && kube_is_namespace(event->job, slash)
		       ? xasprintf("%.*s", (int)(slash - event->job), event->job)
		       : NULL;
}

void kube_events_tell(struct kube_events *e, const struct cluster_event *event, const char *uid)
{
	CLEANUP(freep) char *message = kube_clip(event->message, KUBE_MESSAGE_MAX);
	CLEANUP(freep) char *node = subject_of(event);
	const uint64_t now_us = e->options.real_us();
	struct told *t = NULL;

	if (!node)
		return;
	/* The rate is per node or per job. */
	if (!may_tell(e, event->job ? event->job : node)) {
		e->lost++;
		return;
	}
	t = find(e, event, node, message, now_us);
	if (t) {
		t->count++;
	} else if (make_room(e)) {
		t = xcalloc(1, sizeof(*t));
		t->events = e;
		t->owner = event->job != NULL;
		t->uid = t->owner ? NULL : xstrdup(uid ? uid : node);
		t->node = TAKE(node);
		t->reason = xstrdup(event->reason);
		t->message = TAKE(message);
		t->warning = event->warning;
		name_anew(t, now_us);
		e->told[e->n_told++] = t;
	} else {
		e->lost++;
		return;
	}
	t->last_us = now_us;
	t->dirty = true;
	t->tries = 0;
	pump(e);
}

/* --- sending --- */

static void give_up(struct told *t, const char *words)
{
	t->dirty = false;
	t->events->lost++;
	log_warning("cannot write an Event node=%s: %s", t->node, words);
}

static void try_again(struct told *t, const char *words, uint64_t retry_us)
{
	t->again_us = mono_us(t->events) + MAX(retry_us, RETRY_US);
	t->dirty = true;
	if (++t->tries >= KUBE_EVENT_TRIES_MAX)
		give_up(t, words);
}

static void on_sent(void *context, const struct kube_answer *answer)
{
	struct told *t = context;
	struct kube_events *e = t->events;

	t->request = NULL;
	e->running--;
	switch (answer->result) {
	case CLUSTER_DONE:
		t->known = true;
		break;
	case CLUSTER_CONFLICT: /* it exists: the answer to the first write was lost */
		t->dirty |= !t->known && t->count > 1;
		t->known = true;
		break;
	case CLUSTER_GONE:
		if (t->known) {
			name_anew(t, t->last_us);
			t->dirty = true;
		} else {
			give_up(t, answer->words);
		}
		break;
	case CLUSTER_AGAIN:
		try_again(t, answer->words, answer->retry_us);
		break;
	case CLUSTER_NOT_OURS:
	case CLUSTER_REFUSED:
		give_up(t, answer->words);
		break;
	}
	pump(e);
}

static void send(struct told *t)
{
	struct kube_events *e = t->events;
	const struct kube_event event = { t->name,    t->node,	t->uid,	     t->reason,	 t->message,
					  t->warning, t->owner, t->first_us, t->last_us, t->count };
	CLEANUP(json_freep) json_t *body = NULL;
	struct kube_call call = { .timeout_us = KUBE_WRITE_TIMEOUT_S * USEC_PER_SEC,
				  .done = on_sent,
				  .context = t };
	char path[KUBE_PATH_MAX];
	struct err err = ERR_INIT;
	int r = 0;

	body = t->known ? kube_event_repeat(&event) : kube_event_body(&event);
	call.body = body;
	call.path = path;
	call.method = t->known ? "PATCH" : "POST";
	call.content = t->known ? KUBE_STRATEGIC : KUBE_JSON;
	r = t->known ? kube_path(path, &err, EVENTS_PATH "/%s", namespace_of(t->node, t->owner),
				 t->name)
		     : kube_path(path, &err, EVENTS_PATH, namespace_of(t->node, t->owner));
	t->dirty = false;
	if (r == 0)
		r = kube_send(e->options.kube, &call, &t->request, &err);
	if (r < 0)
		try_again(t, err.msg, 0);
	else
		e->running++;
}

static void pump(struct kube_events *e)
{
	const uint64_t now_us = mono_us(e);
	size_t i;

	if (e->options.stopped(e->options.context))
		return;
	for (i = 0; i < e->n_told && e->running < KUBE_EVENTS_AT_ONCE; i++) {
		struct told *t = e->told[i];

		if (t->dirty && !t->request && t->again_us <= now_us)
			send(t);
	}
}

void kube_events_tick(struct kube_events *e)
{
	const uint64_t now_us = e->options.real_us();
	size_t i = 0;

	while (i < e->n_told) {
		const struct told *t = e->told[i];

		if (t->request || t->dirty || now_us - t->last_us < REMEMBERED_US)
			i++;
		else
			forget(e, i);
	}
	pump(e);
}

uint64_t kube_events_lost(const struct kube_events *e)
{
	return e->lost;
}

struct kube_events *kube_events_new(const struct kube_events_options *options)
{
	struct kube_events *e = xcalloc(1, sizeof(*e));

	e->options = *options;
	return e;
}

void kube_events_free(struct kube_events *e)
{
	size_t i;

	if (!e)
		return;
	for (i = 0; i < e->n_told; i++)
		told_free(e->told[i]);
	for (i = 0; i < e->n_buckets; i++)
		free(e->buckets[i].node);
	free(e->buckets);
	free(e);
}
