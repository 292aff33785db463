/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/order_executor.h"

#include <jansson.h>
#include <stdlib.h>

#include "agents/assayd/assayd_config.h"
#include "agents/assayd/collective.h"
#include "agents/assayd/deep.h"
#include "agents/assayd/hang_watch.h"
#include "agents/assayd/orders.h"
#include "agents/run/verdict_file.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "lib/sys/clock_pair.h"
#include "lib/sys/host.h"

struct order_executor {
	const struct assayd_config *config;
	struct deep *deep;
	struct collective *collective;
	struct hang_watch *hangs;
	json_t *opinion;   /* not written yet */
	bool opinion_told; /* the failure to write it was logged */
};

void order_executor_look(struct order_executor *o)
{
	struct err err = ERR_INIT;
	int r;

	if (!o->opinion)
		return;
	r = verdict_file_set_fleet(o->opinion, &err);
	if (r < 0) {
		if (!o->opinion_told)
			log_warning("the controller's opinion could not be stored, retrying: %s",
				    err.msg);
		o->opinion_told = true;
		return;
	}
	json_decref(o->opinion);
	o->opinion = NULL;
	o->opinion_told = false;
}

static void on_opinion(struct order_executor *o, const struct order *order)
{
	const char *verdict = json_string_value(json_object_get(order->opinion, "verdict"));
	const char *expires = json_string_value(json_object_get(order->opinion, "expires"));
	CLEANUP(freep) char *boot_id = host_boot_id();
	const struct clock_pair now = { clock_real_us(), clock_boot_us(), boot_id };

	log_info("the controller's opinion: verdict=%s expires=%s", verdict, expires);
	verdict_file_date_fleet(order->opinion, &now);
	json_decref(o->opinion);
	o->opinion = json_incref(order->opinion);
	order_executor_look(o);
}

static void on_deep(struct order_executor *o, const struct order *order)
{
	uint64_t left_us = o->config->deep_max_us;
	struct err err = ERR_INIT;
	uint64_t now_us = clock_real_us();

	if (order->deadline_us)
		left_us =
			MIN(left_us, order->deadline_us > now_us ? order->deadline_us - now_us : 0);
	if (deep_start(o->deep, order->id, order->profile, clock_mono_us() + left_us, &err) < 0)
		log_warning("order declined: %s id=%s", err.msg, order->id);
}

void order_executor_order(struct order_executor *o, const struct order *order)
{
	switch ((enum order_kind)order->kind) {
	case ORDER_OPINION:
		on_opinion(o, order);
		break;
	case ORDER_DEEP:
		on_deep(o, order);
		break;
	case ORDER_PAIR:
	case ORDER_ALLREDUCE:
		collective_obey(o->collective, order, o->config);
		break;
	case ORDER_LOOK:
		hang_watch_ask(o->hangs, order->job, order->deadline_us);
		break;
	}
}

void order_executor_refused(struct order_executor *o, const struct order *order, const char *why)
{
	if (order_kind_meets(order->kind))
		collective_decline(o->collective, order, PROBLEM_SET_UP, why);
}

void order_executor_stop(struct order_executor *o)
{
	deep_stop(o->deep);
	collective_stop(o->collective);
}

struct order_executor *order_executor_new(struct sd_event *event, const struct assayd_config *config,
					  struct hang_watch *hangs)
{
	struct order_executor *o = xcalloc(1, sizeof(*o));

	o->config = config;
	o->hangs = hangs;
	o->deep = deep_new(event);
	o->collective = collective_new(event);
	return o;
}

void order_executor_free(struct order_executor *o)
{
	if (!o)
		return;
	deep_free(o->deep);
	collective_free(o->collective);
	json_decref(o->opinion);
	free(o);
}
