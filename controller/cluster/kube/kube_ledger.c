/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request at a time, in order. The Lease as of the last answer is kept, as a write sends all of
 * it back.
 */
#include "controller/cluster/kube/kube_ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <systemd/sd-event.h>

#include "controller/cluster/kube/budget_lease.h"
#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_lease.h"
#include "controller/cluster/kube/kube_path.h"
#include "controller/cluster/ledger.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

#define LOOK_EVERY_US (2 * USEC_PER_SEC)
#define LOOK_STALE_US (10 * USEC_PER_SEC)

enum {
	ORDERS_MAX = 16,
	TEXT_MAX = LEDGER_TEXT_MAX - 8192, /* minus annotations of others, and our names */
	STATUS_CONFLICT = 409,
	STATUS_ABSENT = 404,
};

enum order_kind { ORDER_LOOK, ORDER_READ, ORDER_WRITE };

/* A pending call. */
struct order {
	struct order *next;
	int kind; /* enum order_kind */
	struct cluster_call call;
	char *version, *text; /* for a write */
	char *writer;	      /* ID of this write */
	bool conflict;	      /* the server refused it: somebody was first, possibly ourselves */
	bool again;	      /* sent again, on top of an earlier write of ours */
	uint64_t sent_us;
};

/* A write of ours that may or may not have been done, or may still be. */
struct doubt {
	char *writer, *text;
};

struct kube_ledger {
	struct sd_event *loop;
	struct kube *kube;
	const struct kube_fence *fence;
	struct kube_request *request;
	sd_event_source *timer, *next;
	struct order *orders;
	size_t n_orders;
	struct budget_lease seen;
	struct doubt doubt, before; /* this write; the one before it */
	uint64_t looked_us;	    /* monotonic; time of the request for `seen`; 0: never */
	uint64_t identity, n_writes;
	char *stopped; /* one line, or NULL */
	char *stale;
	bool closing;
};

static void doubt_release(struct doubt *doubt)
{
	free(TAKE(doubt->writer));
	free(TAKE(doubt->text));
}

static void order_free(struct order *o)
{
	free(o->version);
	free(o->text);
	free(o->writer);
	free(o);
}

/* --- the kill switch --- */

static void note_stop(struct kube_ledger *l)
{
	CLEANUP(freep) char *words = NULL;

	if (l->seen.stop)
		words = xasprintf("stopped by the annotation %s of the Lease %s/" KUBE_LEDGER_NAME
				  ": %.200s",
				  kube_names(l->kube)->stop, kube_namespace(l->kube), l->seen.stop);
	if (!streq(words, l->stopped))
		log_warning("%s", words ? words : "no longer stopped");
	free(l->stopped);
	l->stopped = TAKE(words);
}

const char *kube_ledger_stopped(const struct kube_ledger *l)
{
	if (l->looked_us == 0 || clock_mono_us() - l->looked_us > LOOK_STALE_US)
		return l->stale;
	return l->stopped;
}

/* --- answers --- */

static void wake(struct kube_ledger *l)
{
	(void)sd_event_source_set_enabled(l->next, SD_EVENT_ONESHOT);
}

/* Answer and end the first order. */
static void conclude(struct kube_ledger *l, struct cluster_answer answer)
{
	struct order *o = l->orders;

	l->orders = o->next;
	l->n_orders--;
	if (answer.result == CLUSTER_DONE) {
		answer.version = l->seen.version;
		answer.text = l->seen.text;
		answer.words = "";
	}
	if (l->orders)
		wake(l);
	cluster_answer(&o->call, &answer);
	order_free(o);
}

static void conclude_as(struct kube_ledger *l, enum cluster_result result, const char *words)
{
	conclude(l, (struct cluster_answer){ .result = result, .words = words });
}

static void conclude_failed(struct kube_ledger *l, const struct kube_answer *answer)
{
	conclude(l, (struct cluster_answer){ .result = answer->result == CLUSTER_REFUSED
							       ? CLUSTER_REFUSED
							       : CLUSTER_AGAIN,
					     .words = answer->words,
					     .retry_us = answer->retry_us });
}

/* Take over the Lease from the answer. */
static int see(struct kube_ledger *l, const struct kube_answer *answer, struct err *err)
{
	struct budget_lease seen = { 0 };
	int r = answer->status == STATUS_ABSENT
			? 0
			: budget_lease_read(answer->body, kube_names(l->kube), &seen, err);

	if (r < 0)
		return r;
	budget_lease_release(&l->seen);
	l->seen = seen;
	l->looked_us = l->orders->sent_us;
	note_stop(l);
	return 0;
}

/* --- requests --- */

static int ask(struct kube_ledger *l, const char *method, const json_t *body, kube_done *done,
	       struct err *err)
{
	static const char leases[] = "/apis/coordination.k8s.io/v1/namespaces/%s/leases";
	static const char lease[] = "/apis/coordination.k8s.io/v1/namespaces/%s/leases/%s";
	const char *namespace = kube_namespace(l->kube);
	char path[KUBE_PATH_MAX];
	int r = streq(method, "POST") ? kube_path(path, err, leases, namespace)
				      : kube_path(path, err, lease, namespace, KUBE_LEDGER_NAME);

	l->orders->sent_us = clock_mono_us();
	if (r < 0)
		return r;
	return kube_send(l->kube,
			 &(struct kube_call){ .method = method,
					      .path = path,
					      .content = body ? KUBE_JSON : KUBE_NO_BODY,
					      .body = body,
					      .timeout_us = KUBE_WRITE_TIMEOUT_S * USEC_PER_SEC,
					      .done = done,
					      .context = l },
			 &l->request, err);
}

static void look(struct kube_ledger *l, kube_done *done)
{
	struct err err = ERR_INIT;

	if (ask(l, "GET", NULL, done, &err) < 0)
		conclude_as(l, CLUSTER_AGAIN, err.msg);
}

static bool was_read(struct kube_ledger *l, const struct kube_answer *answer)
{
	struct err err = ERR_INIT;

	l->request = NULL;
	if (answer->status != 200 && answer->status != STATUS_ABSENT) {
		conclude_failed(l, answer);
		return false;
	}
	if (see(l, answer, &err) < 0) {
		conclude_as(l, CLUSTER_AGAIN, err.msg);
		return false;
	}
	return true;
}

static void on_read(void *context, const struct kube_answer *answer)
{
	struct kube_ledger *l = context;

	if (!was_read(l, answer))
		return;
	if (l->seen.text)
		conclude_as(l, CLUSTER_DONE, "");
	else
		conclude_as(l, CLUSTER_GONE, "there is no ledger yet");
}

/* --- a write --- */

static void put(struct kube_ledger *l);

/* The current Lease shows the result of the write. */
static void on_verified(void *context, const struct kube_answer *answer)
{
	struct kube_ledger *l = context;
	struct order *o = l->orders;

	if (!was_read(l, answer))
		return;
	if (l->seen.text && streq(l->seen.writer, o->writer) && streq(l->seen.text, o->text)) {
		conclude_as(l, CLUSTER_DONE, "");
		return;
	}
	if (o->conflict && !o->again && l->seen.text && streq(l->seen.writer, l->before.writer) &&
	    streq(l->seen.text, l->before.text)) {
		o->again = true; /* the write before was done after all: nobody else has written */
		put(l);
		return;
	}
	if (o->conflict)
		conclude_as(l, CLUSTER_CONFLICT, "the ledger changed in the meantime");
	else
		conclude_as(l, CLUSTER_AGAIN, "no answer to the ledger write");
}

static void on_put(void *context, const struct kube_answer *answer)
{
	struct kube_ledger *l = context;
	struct order *o = l->orders;
	struct err err = ERR_INIT;

	l->request = NULL;
	if ((answer->status == 200 || answer->status == 201) && see(l, answer, &err) == 0) {
		doubt_release(&l->doubt);
		doubt_release(&l->before);
		conclude_as(l, CLUSTER_DONE, "");
		return;
	}
	o->conflict = answer->status == STATUS_CONFLICT || answer->status == STATUS_ABSENT;
	if (o->conflict || answer->status < 400 || answer->status >= 500) {
		look(l, on_verified);
		return;
	}
	/* Definitely refused: the doubt is about the write before it. */
	doubt_release(&l->doubt);
	l->doubt = l->before;
	l->before = (struct doubt){ 0 };
	conclude_failed(l, answer);
}

static void put(struct kube_ledger *l)
{
	struct order *o = l->orders;
	CLEANUP(json_freep) json_t *body = NULL;
	struct err err = ERR_INIT;

	if (l->fence && !kube_fence_holds(l->fence)) {
		conclude_as(l, CLUSTER_AGAIN, "this controller is not the leader");
		return;
	}
	body = budget_lease_write(&l->seen, kube_names(l->kube), kube_namespace(l->kube), o->text,
				  o->writer);
	if (ask(l, l->seen.version ? "PUT" : "POST", body, on_put, &err) < 0)
		conclude_as(l, CLUSTER_AGAIN, err.msg);
}

static void write_first(struct kube_ledger *l)
{
	struct order *o = l->orders;

	if (strlen(o->text) > TEXT_MAX) {
		conclude_as(l, CLUSTER_REFUSED, "the ledger is too long for an annotation");
		return;
	}
	/* Creating requires that there is none; changing, that it is this version. */
	if (o->version ? !streq(o->version, l->seen.version) : l->seen.text != NULL) {
		conclude_as(l, CLUSTER_CONFLICT, "the ledger changed in the meantime");
		return;
	}
	o->writer = xasprintf("%016" PRIx64 "/%" PRIu64, l->identity, ++l->n_writes);
	doubt_release(&l->before);
	l->before = l->doubt;
	l->doubt = (struct doubt){ xstrdup(o->writer), xstrdup(o->text) };
	put(l);
}

/* --- the queue --- */

static int on_next(sd_event_source *source UNUSED, void *context)
{
	struct kube_ledger *l = context;

	if (l->request || !l->orders)
		return 0;
	if (l->orders->kind == ORDER_WRITE)
		write_first(l);
	else
		look(l, on_read);
	return 0;
}

static void add(struct kube_ledger *l, const struct order *like)
{
	static const struct cluster_answer full = {
		.result = CLUSTER_AGAIN, .words = "too many requests wait for the ledger"
	};
	struct order *o = xcalloc(1, sizeof(*o)), **at = &l->orders;

	*o = *like;
	if (l->closing || l->n_orders == ORDERS_MAX) {
		cluster_answer(&o->call, &full);
		order_free(o);
		return;
	}
	while (*at)
		at = &(*at)->next;
	*at = o;
	l->n_orders++;
	wake(l);
}

void kube_ledger_read(struct kube_ledger *l, const struct cluster_call *call)
{
	add(l, &(struct order){ .kind = ORDER_READ, .call = *call });
}

void kube_ledger_write(struct kube_ledger *l, const char *version, const char *text,
		       const struct cluster_call *call)
{
	add(l, &(struct order){ .kind = ORDER_WRITE,
				.call = *call,
				.version = xstrdup(version),
				.text = xstrdup(text) });
}

/* --- begin and end --- */

static int on_timer(sd_event_source *source, uint64_t due_us UNUSED, void *context)
{
	struct kube_ledger *l = context;

	if (!l->orders && (!l->fence || kube_fence_holds(l->fence)))
		add(l, &(struct order){ .kind = ORDER_LOOK });
	(void)sd_event_source_set_time_relative(source, LOOK_EVERY_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int kube_ledger_open(struct sd_event *loop, struct kube *kube, const struct kube_fence *fence,
		     struct kube_ledger **ret_ledger, struct err *err)
{
	CLEANUP(kube_ledger_closep) struct kube_ledger *l = xcalloc(1, sizeof(*l));
	int r;

	l->loop = loop;
	l->kube = kube;
	l->fence = fence;
	l->identity = random_u64();
	l->stale = xasprintf("the kill switch (annotation %s of the Lease %s/" KUBE_LEDGER_NAME
			     ") cannot be read",
			     kube_names(kube)->stop, kube_namespace(kube));
	r = sd_event_add_time(loop, &l->timer, CLOCK_MONOTONIC, 0, USEC_PER_MSEC, on_timer, l);
	if (r >= 0)
		r = sd_event_add_defer(loop, &l->next, on_next, l);
	if (r < 0)
		return err_errno(err, -r, "event loop");
	*ret_ledger = TAKE(l);
	return 0;
}

void kube_ledger_close(struct kube_ledger *l)
{
	if (!l)
		return;
	l->closing = true;
	kube_cancel(TAKE(l->request));
	while (l->orders)
		conclude_as(l, CLUSTER_AGAIN, "this controller is stopping");
	l->timer = sd_event_source_disable_unref(l->timer);
	l->next = sd_event_source_disable_unref(l->next);
	budget_lease_release(&l->seen);
	doubt_release(&l->doubt);
	doubt_release(&l->before);
	free(l->stopped);
	free(l->stale);
	free(l);
}
