/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/orders_link.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <systemd/sd-event.h>

#include "agents/assayd/delivery.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/net/http.h"

#define TIMER_ACCURACY_US (10 * USEC_PER_MSEC)
/* An answer without an order that comes sooner was not held. */
#define HELD_MIN_US (1 * USEC_PER_SEC)

struct orders_link {
	sd_event_source *timer;
	struct http *http;
	struct http_request *request;
	struct orders_link_options options;
	char *url; /* of the request, without the seconds */
	struct backoff backoff;
	uint64_t asked_us; /* CLOCK_MONOTONIC */
	unsigned early;
	struct order_seen seen;
	struct err trouble;
};

static int ask(struct orders_link *l, struct err *err);

static void ask_in(struct orders_link *l, uint64_t wait_us)
{
	int r = sd_event_source_set_time(l->timer, clock_mono_us() + wait_us);

	if (r >= 0)
		r = sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
	if (r < 0)
		log_error("no timer: %s", strerror(-r));
}

static void trouble(struct orders_link *l, const struct err *why, uint64_t at_least_us)
{
	ask_in(l, backoff_fail(&l->backoff, at_least_us, random_u64()));
	if (streq(l->trouble.msg, why->msg))
		return;
	log_warning("cannot reach the controller: %s", why->msg);
	l->trouble = *why;
	l->options.changed(l->options.context);
}

static void heard(struct orders_link *l)
{
	backoff_reset(&l->backoff);
	if (!l->trouble.msg[0])
		return;
	l->trouble = (struct err)ERR_INIT;
	log_info("connected to the controller");
	l->options.changed(l->options.context);
}

/* An opinion always replaces the last one; any other order is executed or refused once. */
static bool is_repeated(struct orders_link *l, const struct order *head)
{
	return head->id[0] && head->kind != ORDER_OPINION && order_seen(&l->seen, head->id);
}

static void obey(struct orders_link *l, const struct jval *v)
{
	struct order order = { 0 }, head = { 0 };
	struct err err = ERR_INIT;

	(void)order_decode_head(v, &head, NULL);
	if (is_repeated(l, &head))
		return;
	if (order_decode(v, clock_real_us(), &order, &err) == 0) {
		l->options.order(l->options.context, &order);
		order_release(&order);
		return;
	}
	log_warning("order declined: %s%s%s", err.msg, head.id[0] ? " id=" : "", head.id);
	if (head.id[0])
		l->options.refused(l->options.context, &head, err.msg);
}

static int obey_all(struct orders_link *l, const struct http_answer *answer, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root, item;
	size_t i;
	int r = json_parse(answer->body, answer->len, "orders", &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "orders");
	r = jval_need_array(&root, err);
	for (i = 0; r == 0 && i < MIN(json_array_size(value), (size_t)ORDERS_MAX); i++) {
		item = jval_at(&root, i);
		obey(l, &item);
	}
	if (json_array_size(value) > ORDERS_MAX)
		log_warning("orders beyond the first %d of an answer are ignored", ORDERS_MAX);
	return r;
}

/* Returns 0 for a valid answer. */
static int take_answer(struct orders_link *l, const struct http_answer *answer, struct err *err)
{
	if (answer->r < 0)
		return err_set(err, -answer->r, "%s", answer->why);
	if (answer->status == 204)
		return 0;
	if (answer->status == 200)
		return obey_all(l, answer, err);
	(void)delivery_judge(answer->status, answer->body, answer->len, err);
	return -EREMOTEIO;
}

/* Do not query a server in a tight loop if it does not hold requests. */
static uint64_t pause_us(struct orders_link *l)
{
	const bool early = clock_mono_us() - l->asked_us < HELD_MIN_US;

	l->early = early ? l->early + 1 : 0;
	if (l->early <= ORDERS_LINK_EARLY_MAX)
		return 0;
	return HELD_MIN_US + random_u64() % HELD_MIN_US;
}

static void on_answer(void *context, const struct http_answer *answer)
{
	struct orders_link *l = context;
	struct err why = ERR_INIT;
	uint64_t wait_us;

	l->request = NULL;
	if (take_answer(l, answer, &why) < 0) {
		trouble(l, &why, answer->retry_after_us);
		return;
	}
	heard(l);
	wait_us = pause_us(l);
	if (wait_us)
		ask_in(l, wait_us);
	else if (ask(l, &why) < 0)
		trouble(l, &why, 0);
}

static int ask(struct orders_link *l, struct err *err)
{
	/* After a failure use a short wait first: the answer shows that the controller is back. */
	const uint64_t wait_us = l->trouble.msg[0] ? ORDERS_LINK_FIRST_US : l->options.wait_us;
	CLEANUP(freep) char *url = xasprintf("%s%" PRIu64, l->url, wait_us / USEC_PER_SEC);
	const struct http_call call = {
		.method = "GET",
		.url = url,
		.timeout_us = wait_us + ORDERS_LINK_MARGIN_US,
		.answer_max = ORDERS_ANSWER_MAX,
		.done = on_answer,
		.context = l,
	};

	l->asked_us = clock_mono_us();
	return http_send(l->http, &call, &l->request, err);
}

static int on_timer(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	struct orders_link *l = context;
	struct err why = ERR_INIT;

	if (ask(l, &why) < 0)
		trouble(l, &why, 0);
	return 0;
}

const char *orders_link_trouble(const struct orders_link *l)
{
	return l->trouble.msg;
}

void orders_link_free(struct orders_link *l)
{
	if (!l)
		return;
	http_cancel(l->request);
	(void)sd_event_source_disable_unref(l->timer);
	free(l->url);
	free(l);
}

int orders_link_new(struct sd_event *event, const struct orders_link_options *options,
		    struct orders_link **ret, struct err *err)
{
	struct orders_link *l = xcalloc(1, sizeof(*l));
	int r;

	l->options = *options;
	l->http = options->http;
	l->backoff = options->backoff;
	l->url = xasprintf("%s/v1/nodes/%s/orders?wait=", options->url, options->node);
	/* Until the first answer. */
	(void)err_set(&l->trouble, ENOTCONN, "no answer yet");
	r = sd_event_add_time(event, &l->timer, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_US, on_timer, l);
	if (r >= 0)
		r = sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
	if (r < 0) {
		orders_link_free(l);
		return err_errno(err, -r, "cannot create a timer");
	}
	*ret = l;
	return 0;
}
