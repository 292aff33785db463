/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the fleet as a whole. */
#include "controller/api.h"
#include "controller/drift.h"
#include "controller/routes.h"
#include "controller/service.h"
#include "controller/store.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "lib/json.h"

void get_incidents(void *context, struct call *call)
{
	struct service *s = context;
	const char *state = call_argument(call, "state");
	struct store_range range;
	struct store_page page = { 0 };
	struct err err = ERR_INIT;
	int r;

	if (state && !streq(state, "open") && !streq(state, "all")) {
		call_refuse(call, 400, "state: want open or all");
		return;
	}
	if (!range_of(call, CURSOR_NUMBER, &range))
		return;
	r = store_incidents(s->store, &range, streq(state, "open"), &page, &err);
	if (r < 0)
		refuse_store(call, r, &err);
	else
		reply_page(call, &page);
}

void get_incident(void *context, struct call *call)
{
	struct service *s = context;
	json_t *incident = NULL;
	struct err err = ERR_INIT;
	int64_t id;
	int r = number_of(call, "incident", &id, &err);

	if (r == 0)
		r = store_incident(s->store, id, &incident, &err);
	if (r < 0)
		refuse_store(call, r, &err);
	else
		call_reply(call, 200, incident);
}

void get_baselines(void *context, struct call *call)
{
	struct service *s = context;
	CLEANUP(json_freep) json_t *all = baselines_encode(&s->baselines);
	struct store_range range;
	struct store_page page;

	if (!range_of(call, CURSOR_NUMBER, &range))
		return;
	page = cut_page(all, &range);
	reply_page(call, &page);
}

void get_drift(void *context, struct call *call)
{
	struct service *s = context;
	CLEANUP(json_freep) json_t *nodes = NULL;
	CLEANUP(json_freep) json_t *all = NULL;
	struct store_range range;
	struct store_page page;
	struct err err = ERR_INIT;
	int r;

	if (!range_of(call, CURSOR_NUMBER, &range))
		return;
	r = store_envs(s->store, clock_real_us(), &nodes, &err);
	if (r < 0) {
		refuse_store(call, r, &err);
		return;
	}
	all = drift_find(nodes);
	page = cut_page(all, &range);
	reply_page(call, &page);
}
