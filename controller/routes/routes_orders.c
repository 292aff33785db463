/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call that an agent holds open: it receives orders through it, and while it is there the host
 * is alive. Orders are the controller's opinion of the host if it has to be sent, a test that the
 * policy wants, one with other hosts, and to look at ranks of a job that stands still.
 */
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/actions/burns.h"
#include "controller/campaign/campaigns.h"
#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/job/hangs.h"
#include "controller/routes/routes.h"
#include "controller/store/store.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/node_name.h"

enum {
	WAIT_DEFAULT_S = 30,
	WAIT_MAX_S = 300,
	/* Held calls per host: after a broken connection the old one remains for a while, and two
	 * daemons of one name must not cut each other off in turns. */
	HOLDS_MAX = 4,
};

#define WAIT_ACCURACY_US (100 * USEC_PER_MSEC)

/* A held call. */
struct hold {
	struct service *service;
	struct call *call;
	sd_event_source *timer;
	char *node;
	struct hold *older; /* of the same host */
	bool passed;	    /* replaced: nothing is sent through it, nobody may read it */
};

static int compare_holds(const void *a, const void *b)
{
	return strcmp(((const struct hold *)a)->node, ((const struct hold *)b)->node);
}

/* The newest call held by the host, or NULL. */
static struct hold *hold_of(struct service *s, const char *node)
{
	CLEANUP(freep) char *name = xstrdup(node);
	struct hold key = { .node = name };
	struct hold **found = tfind(&key, &s->holds, compare_holds);

	return found && !(*found)->passed ? *found : NULL;
}

/*
 * A second call of a host replaces the first, which ends by itself. Returns the oldest if there are
 * more than HOLDS_MAX.
 */
static struct hold *hold_enter(struct service *s, struct hold *hold)
{
	struct hold **place = tsearch(hold, &s->holds, compare_holds);
	struct hold *oldest = hold;
	unsigned n = 1;

	if (!place)
		abort(); /* out of memory */
	if (*place != hold) {
		hold->older = *place;
		hold->older->passed = true;
	}
	*place = hold;
	for (; oldest->older; n++)
		oldest = oldest->older;
	return n > HOLDS_MAX ? oldest : NULL;
}

static void hold_leave(struct service *s, struct hold *hold)
{
	struct hold **place = tfind(hold, &s->holds, compare_holds);
	struct hold *newer = place ? *place : NULL;

	if (!newer)
		return;
	if (newer == hold && hold->older) {
		*place = hold->older;
		return;
	}
	if (newer == hold) {
		(void)tdelete(hold, &s->holds, compare_holds);
		return;
	}
	while (newer && newer->older != hold)
		newer = newer->older;
	if (newer)
		newer->older = hold->older;
}

/* With `orders`, of which it takes ownership, or for NULL with an empty answer. */
static void answer(struct call *call, json_t *orders)
{
	if (orders)
		call_reply(call, 200, orders);
	else
		call_reply_empty(call, 204);
}

static void end(struct hold *hold, bool gone, json_t *orders)
{
	struct service *s = hold->service;
	struct call *call = hold->call;

	live_end(&s->live, hold->node, gone, clock_mono_us());
	if (gone)
		opinions_forget(&s->opinions, hold->node);
	if (gone && !s->closing && api_tells(s->api, API_SAY_GONE))
		log_info("agent gone node=%s", hold->node);
	hold_leave(s, hold);
	(void)sd_event_source_disable_unref(hold->timer);
	free(hold->node);
	free(hold);
	answer(call, orders);
}

static int on_time(sd_event_source *source, uint64_t now_us, void *context)
{
	(void)source;
	(void)now_us;
	end(context, false, NULL);
	return 0;
}

static void on_gone(void *context, struct call *call)
{
	(void)context;
	end(call_data(call), true, NULL);
}

/* From the store; NULL for an unknown host, or on failure. */
static json_t *opinion_of(struct service *s, const char *node, uint64_t now_real_us)
{
	CLEANUP(json_freep) json_t *host = NULL;
	CLEANUP(json_freep) json_t *incidents = NULL;
	CLEANUP(freep) char *cordoned = actor_cordoned(s->act, node);
	CLEANUP(freep) char *let_in = actor_let_in(s->act, node);
	struct err err = ERR_INIT;
	int r = store_node(s->store, node, now_real_us, &host, &err);

	if (r == 0)
		r = store_open_incidents(s->store, node, &incidents, &err);
	if (r < 0) {
		if (r != -ENOENT)
			log_warning("cannot form an opinion node=%s: %s", node, err.msg);
		return NULL;
	}
	return opinion_make(
		&(struct opinion_input){
			.node = host,
			.incidents = incidents,
			.cordoned = cordoned,
			.let_in = let_in,
			.policy = s->rules.version,
		},
		now_real_us);
}

/* The opinion as an order, if it has to be sent; a new reference, or NULL. */
static json_t *opinion_order(struct service *s, const char *node)
{
	uint64_t now_real_us = clock_real_us(), now_us = clock_mono_us();
	CLEANUP(json_freep) json_t *opinion = opinion_of(s, node, now_real_us);
	char now[CLOCK_STAMP_SIZE];

	if (!opinion || !opinions_due(&s->opinions, node, opinion, now_us))
		return NULL;
	opinions_told(&s->opinions, node, opinion, now_us);
	/* For a host with a different clock. */
	clock_stamp(now_real_us, now);
	return json_pack("{s:o, s:s, s:s, s:O}", "id", json_sprintf("opinion-%" PRIu64, now_real_us),
			 "kind", "opinion", "now", now, "opinion", opinion);
}

/* The orders to send to the host now: an array, a new reference; or NULL. */
static json_t *orders_of(struct service *s, const char *node)
{
	json_t *const all[] = { opinion_order(s, node), actor_order(s->act, node),
				burns_order(s, node), campaigns_order(s, node),
				hangs_order(s, node) };
	json_t *orders = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		if (all[i] && !orders)
			orders = json_array();
		if (all[i])
			(void)json_array_append_new(orders, all[i]);
	}
	return orders;
}

void orders_wake(struct service *s, const char *node)
{
	struct hold *hold = hold_of(s, node);
	json_t *orders = hold ? orders_of(s, node) : NULL;

	if (orders)
		end(hold, false, orders);
}

static bool wait_of(struct call *call, uint64_t *ret_us)
{
	unsigned long value = WAIT_DEFAULT_S;

	if (!routes_argument(call, "wait", "seconds, ", 0, WAIT_MAX_S, &value))
		return false;
	*ret_us = value * USEC_PER_SEC;
	return true;
}

/* "none": only a check of access, by `assayd --check`. No order is handed out, and the host does
 * not count as alive. */
static bool asks_only(struct call *call)
{
	return streq(call_argument(call, "wait"), "none");
}

void get_orders(void *context, struct call *call)
{
	struct service *s = context;
	const struct identity *who = call_identity(call);
	const char *node = call_segment(call);
	uint64_t wait_us = 0;
	struct hold *hold, *oldest;
	json_t *orders;

	if (!node_name_ok(node)) {
		call_refuse(call, 404, "'%.80s' is not a host name", node);
		return;
	}
	if (who->role != ROLE_ADMIN && (who->role != ROLE_NODE || !streq(who->node, node))) {
		call_refuse(call, 403, "this token may not receive orders for '%s'", node);
		return;
	}
	if (asks_only(call)) {
		call_reply_empty(call, 204);
		return;
	}
	if (!wait_of(call, &wait_us) || stands_by(s, call))
		return;
	orders = orders_of(s, node);
	if (wait_us == 0 || (!orders && !live_fits(&s->live, node, s->settings->nodes_max))) {
		answer(call, orders);
		return;
	}
	hold = xcalloc(1, sizeof(*hold));
	*hold = (struct hold){ s, call, NULL, xstrdup(node), NULL };
	live_begin(&s->live, node);
	call_hold(call, on_gone, hold);
	if (orders || sd_event_add_time_relative(s->loop, &hold->timer, CLOCK_MONOTONIC, wait_us,
						 WAIT_ACCURACY_US, on_time, hold) < 0) {
		end(hold, false, orders);
		return;
	}
	oldest = hold_enter(s, hold);
	if (oldest)
		end(oldest, false, NULL);
}
