/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/alerts/alerting.h"

#include <stdlib.h>

#include "controller/actions/remediation.h"
#include "controller/alerts/alert.h"
#include "controller/alerts/alert_book.h"
#include "controller/alerts/alert_sender.h"
#include "controller/alerts/alerts_open.h"
#include "controller/controller.h"
#include "controller/store/store.h"
#include "controller/store/store_actions.h"
#include "controller/store/store_alerts.h"
#include "lib/base/backoff.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* An Alertmanager. */
struct alerted {
	struct service *service;
	const struct settings_alertmanager *settings; /* borrowed */
	void *sender;
	struct alert_book book;
	struct backoff backoff;
	uint64_t again_us; /* monotonic: earliest next post */
	char *body;	   /* of the post in flight; NULL: none */
	bool failing;	   /* and that was logged */
	uint64_t delivered, failed;
};

struct alerting {
	struct alerted to[ALERTMANAGERS_MAX];
	size_t n;
	struct alert_set set;
	uint64_t listens_us;	     /* real time: since when we listen */
	uint64_t opened_us, look_us; /* monotonic */
	uint64_t not_before_us;	     /* monotonic: earliest next collection */
	uint64_t changes;	     /* of incidents, at the last collection */
	bool unsure;		     /* the alerts seen are not durable: do not send them yet */
	bool told_left_out;
	bool blind; /* collecting failed, and that was logged */
};

/* --- rows --- */

struct keeping {
	const struct alerted *to;
	struct err *err;
};

static int keep_row(void *context, const struct alert_row *row)
{
	const struct keeping *k = context;
	const struct store_alert alert = { k->to->settings->url, row->name, row->sentence,
					   row->since_us, row->ended };
	struct store *store = k->to->service->store;
	int r = row->state == ALERT_ROW_NEW
			? store_put_alert(store, &alert, k->err)
			: store_drop_alert(store, alert.alertmanager, alert.labels, k->err);

	service_touch(k->to->service);
	return r;
}

static void keep_rows(struct service *s)
{
	struct alerting *a = s->alerting;
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; a && !s->failing && i < a->n; i++) {
		struct keeping k = { &a->to[i], &err };

		if (alert_book_keep(&a->to[i].book, keep_row, &k) < 0) {
			service_failed(s, &err);
			return;
		}
	}
}

/* --- one post --- */

static void note_taken(struct alerted *to, size_t n)
{
	backoff_reset(&to->backoff);
	to->delivered += n;
	if (to->failing)
		log_info("alerts are being delivered again to=%s", to->settings->url);
	to->failing = false;
}

static void note_failed(struct alerted *to, const char *why, uint64_t retry_after_us)
{
	to->failed++;
	to->again_us = clock_mono_us() + backoff_fail(&to->backoff, retry_after_us, random_u64());
	if (!to->failing)
		log_warning("alerts are waiting and will be posted again: %s to=%s", why,
			    to->settings->url);
	to->failing = true;
}

static void post_next(struct alerted *to);

static void on_sent(void *context, const struct alert_sent *sent)
{
	struct alerted *to = context;
	const size_t n = alert_book_answer(&to->book, sent->result, clock_mono_us());

	free(TAKE(to->body));
	if (sent->result == ALERT_TAKEN) {
		note_taken(to, n);
		keep_rows(to->service); /* delete rows whose end was sent */
		post_next(to);
	} else {
		note_failed(to, sent->why, sent->retry_after_us);
	}
}

#define STARTED "the controller has just started, and does not know yet whether this still holds"

/* A host that was forgotten after long silence was not judged: say so. */
static void say_forgotten(const struct alerted *to, const struct alert_row *row, json_t *annotations)
{
	CLEANUP(json_freep) json_t *labels = json_loads(row->name, 0, NULL);
	const char *node = json_string_value(json_object_get(labels, "node"));
	struct err ignored = ERR_INIT;
	bool known = true;

	if (node && store_has_node(to->service->store, node, &known, &ignored) == 0 && !known)
		(void)json_object_set_new(annotations, "ended",
					  json_string("the host has not reported for so long that "
						      "it was removed; its state is unknown"));
}

static json_t *annotations_of(const struct alerted *to, const struct alert_row *row)
{
	json_t *annotations;

	if (row->open && !row->ended)
		return json_incref(row->open->annotations);
	annotations = json_pack("{s:o}", "sentence", alert_text(row->sentence));
	if (!row->ended)
		(void)json_object_set_new(annotations, "stale", json_string(STARTED));
	else if (row->kind == ALERT_INCIDENT)
		say_forgotten(to, row, annotations);
	return annotations;
}

static json_t *post_of(const struct alerted *to, const struct alert_row *row, uint64_t now_us)
{
	const char *url = to->service->settings->external_url;
	CLEANUP(json_freep) json_t *annotations = annotations_of(to, row);
	CLEANUP(freep)
	char *link = url && row->open && row->open->path ? xasprintf("%s%s", url, row->open->path)
							 : NULL;

	return alert_post_json(&(struct alert_post){
		.labels = row->name,
		.annotations = annotations,
		.link = link,
		.since_us = row->since_us,
		.until_us = row->sent_end ? now_us : now_us + ALERT_STAYS_US,
	});
}

static char *body_of(const struct alerted *to)
{
	CLEANUP(json_freep) json_t *all = json_array();
	const uint64_t now_us = clock_real_us();
	size_t i;

	for (i = 0; i < to->book.n; i++)
		(void)json_array_append_new(all, post_of(to, to->book.batch[i], now_us));
	return json_dumps(all, JSON_COMPACT);
}

/* The leader sends; if the cluster does not tell who that is, whoever knows of no other. */
static bool may_tell(const struct service *s, uint64_t mono_us)
{
	if (s->closing)
		return false;
	return remediation_leads(s) ||
	       (!remediation_other(s) && mono_us - s->alerting->opened_us >= ALERTING_ALONE_US);
}

static void post_next(struct alerted *to)
{
	const uint64_t now_us = clock_mono_us();
	struct err err = ERR_INIT;

	if (to->body || to->service->alerting->unsure || now_us < to->again_us ||
	    !may_tell(to->service, now_us) || alert_book_take(&to->book, now_us) == 0)
		return;
	to->body = body_of(to);
	if (to->service->alert_sender->post(to->sender, to->body, on_sent, to, &err) == 0)
		return;
	(void)alert_book_answer(&to->book, ALERT_UNSENT, now_us);
	free(TAKE(to->body));
	note_failed(to, err.msg, 0);
}

/* --- current alerts --- */

static bool is_told(void *context, const char *labels)
{
	const struct alerting *a = context;
	size_t i;

	for (i = 0; i < a->n; i++) {
		if (alert_book_tells(&a->to[i].book, labels))
			return true;
	}
	return false;
}

static void tell_left_out(struct alerting *a)
{
	if (a->set.left_out > 0 && !a->told_left_out)
		log_warning("%zu alerts are neither sent nor resolved: %d are open",
			    a->set.left_out, ALERTS_MAX);
	a->told_left_out = a->set.left_out > 0;
}

static void look(struct service *s, uint64_t mono_us)
{
	struct alerting *a = s->alerting;
	struct alert_set fresh = { .told = is_told, .context = a };
	struct alert_set before = a->set;
	const uint64_t now_us = clock_real_us();
	struct err err = ERR_INIT;
	size_t i;

	a->look_us = mono_us;
	a->changes = store_incident_changes(s->store);
	a->unsure = store_dirty(s->store);
	if (alerts_open_find(s, &fresh, a->listens_us, now_us, &err) < 0) {
		alert_set_release(&fresh);
		a->look_us = 0;
		a->unsure = true;
		if (!a->blind)
			log_warning("the alerts cannot be read: %s", err.msg);
		a->blind = true;
		return;
	}
	a->blind = false;
	a->set = fresh;
	for (i = 0; i < a->n; i++)
		alert_book_meet(&a->to[i].book, &a->set, now_us, mono_us);
	alert_set_release(&before);
	tell_left_out(a);
}

/* --- once a second, and with each commit --- */

static void tick(struct service *s)
{
	struct alerting *a = s->alerting;
	const uint64_t now_us = clock_mono_us();
	size_t i;

	if (!a || a->n == 0 || !may_tell(s, now_us))
		return;
	if (now_us >= a->not_before_us &&
	    (a->look_us == 0 || now_us - a->look_us >= ALERTING_LOOK_US ||
	     a->changes != store_incident_changes(s->store))) {
		look(s, now_us);
		a->not_before_us = clock_mono_us() + ALERTING_SHARE * (clock_mono_us() - now_us);
	}
	keep_rows(s);
	for (i = 0; i < a->n; i++)
		post_next(&a->to[i]);
}

static void committed(struct service *s)
{
	struct alerting *a = s->alerting;
	const bool was_unsure = a && a->unsure;
	size_t i;

	if (a)
		a->unsure = a->unsure && a->look_us == 0;
	for (i = 0; a && i < a->n; i++) {
		if (alert_book_committed(&a->to[i].book) || was_unsure)
			post_next(&a->to[i]);
	}
}

static void failed(struct service *s)
{
	struct alerting *a = s->alerting;
	size_t i;

	for (i = 0; a && i < a->n; i++)
		alert_book_failed(&a->to[i].book);
	/* What was seen may have been rolled back: collect again before sending. */
	if (a) {
		a->look_us = 0;
		a->unsure = true;
	}
}

/* --- begin and end --- */

struct loading {
	struct alerting *alerting;
	json_t *others; /* [[URL, labels]]: at Alertmanagers no longer in the settings */
};

static void load_row(void *context, const struct store_alert *alert)
{
	const struct loading *l = context;
	size_t i;

	for (i = 0; i < l->alerting->n; i++) {
		struct alerted *to = &l->alerting->to[i];

		if (streq(to->settings->url, alert->alertmanager)) {
			alert_book_load(&to->book, alert->labels, alert->sentence, alert->since_us,
					alert->ended);
			return;
		}
	}
	(void)json_array_append_new(l->others,
				    json_pack("[s, s]", alert->alertmanager, alert->labels));
}

/* Alertmanagers no longer in the settings cannot be reached. */
static int drop_others(struct service *s, const json_t *others, struct err *err)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < json_array_size(others); i++) {
		const json_t *one = json_array_get(others, i);

		r = store_drop_alert(s->store, json_string_value(json_array_get(one, 0)),
				     json_string_value(json_array_get(one, 1)), err);
	}
	if (i > 0)
		service_touch(s);
	return r;
}

static int load(struct service *s, struct err *err)
{
	CLEANUP(json_freep) json_t *others = json_array();
	struct loading loading = { s->alerting, others };
	int r = store_alerts(s->store, load_row, &loading, err);

	return r == 0 ? drop_others(s, others, err) : r;
}

static int open_alerting(struct service *s, struct err *err)
{
	struct alerting *a = xcalloc(1, sizeof(*a));
	size_t i;
	int r = 0;

	s->alerting = a;
	a->opened_us = clock_mono_us();
	a->listens_us = clock_real_us();
	a->unsure = true; /* until the first collection */
	for (i = 0; r == 0 && i < s->settings->alerts.n; i++) {
		struct alerted *to = &a->to[a->n++];

		*to = (struct alerted){ .service = s,
					.settings = &s->settings->alerts.of[i],
					.backoff = { ALERTING_AGAIN_US, ALERTING_AGAIN_MOST_US,
						     0 } };
		r = s->alert_sender->open(s->loop, to->settings, &to->sender, err);
	}
	return r == 0 ? load(s, err) : r;
}

static void close_alerting(struct service *s)
{
	struct alerting *a = TAKE(s->alerting);
	size_t i;

	if (!a)
		return;
	for (i = 0; i < a->n; i++) {
		s->alert_sender->close(a->to[i].sender);
		alert_book_release(&a->to[i].book);
		free(a->to[i].body);
	}
	alert_set_release(&a->set);
	free(a);
}

const struct controller_part alerting_part = {
	.open = open_alerting,
	.tick = tick,
	.committed = committed,
	.failed = failed,
	.stop = keep_rows,
	.close = close_alerting,
};

/* --- queries --- */

static json_t *counts_of(const struct alerted *to, uint64_t now_us)
{
	uint64_t since_us = 0;
	const size_t waiting = alert_book_waiting(&to->book, &since_us);
	const uint64_t age_us = since_us ? now_us - MIN(now_us, since_us) : 0;

	return json_pack("{s:s, s:I, s:I, s:I, s:I}", "url", to->settings->url, "delivered",
			 (json_int_t)to->delivered, "failed", (json_int_t)to->failed, "waiting",
			 (json_int_t)waiting, "oldest_s", (json_int_t)(age_us / USEC_PER_SEC));
}

json_t *alerting_counts(const struct service *s)
{
	const struct alerting *a = s->alerting;
	json_t *to = json_array();
	size_t i;

	for (i = 0; a && i < a->n; i++)
		(void)json_array_append_new(to, counts_of(&a->to[i], clock_mono_us()));
	return json_pack("{s:I, s:I, s:o}", "open", (json_int_t)(a ? a->set.map.n : 0), "left_out",
			 (json_int_t)(a ? a->set.left_out : 0), "to", to);
}
