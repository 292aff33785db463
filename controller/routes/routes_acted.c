/* SPDX-License-Identifier: Apache-2.0 */
/* Past actions, and what is allowed now: actions, breaker, policy. */
#include "controller/actions/actor_views.h"
#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/routes/routes.h"
#include "controller/store/store.h"
#include "controller/store/store_actions.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

void get_actions(void *context, struct call *call)
{
	struct service *s = context;
	struct store_range range;
	struct store_page page = { 0 };
	struct err err = ERR_INIT;
	int r;

	if (!routes_range_of(call, CURSOR_NUMBER, &range))
		return;
	r = store_actions(s->store, call_argument(call, "node"), &range, &page, &err);
	if (r < 0)
		refuse_store(call, r, &err);
	else
		reply_page(call, &page);
}

/* The member, in microseconds, as a time; null if missing. */
static json_t *stamp_at(const json_t *object, const char *key)
{
	const json_int_t us = json_integer_value(json_object_get(object, key));

	return json_stamp((uint64_t)MAX(us, 0));
}

json_t *routes_breaker(const struct service *s)
{
	CLEANUP(json_freep) json_t *kept = actor_breaker_json(s->act);

	/* For a breaker that never opened the ledger holds the first enum value as cause, without
	 * meaning. */
	if (json_integer_value(json_object_get(kept, "opened_us")) == 0)
		(void)json_object_set_new(kept, "cause", json_null());
	return json_pack(
		"{s:O?, s:O?, s:O?, s:o, s:o, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?}", "open",
		json_object_get(kept, "open"), "cause", json_object_get(kept, "cause"), "reason",
		json_object_get(kept, "sentence"), "opened", stamp_at(kept, "opened_us"), "reset",
		stamp_at(kept, "reset_us"), "reset_by", json_object_get(kept, "reset_by"), "mode",
		json_object_get(kept, "mode"), "epoch", json_object_get(kept, "epoch"), "fenced",
		json_object_get(kept, "fenced"), "stale", json_object_get(kept, "stale"), "stopped",
		json_object_get(kept, "stopped"), "budget", json_object_get(kept, "budget"));
}

void get_breaker(void *context, struct call *call)
{
	call_reply(call, 200, routes_breaker(context));
}

void get_coverage(void *context, struct call *call)
{
	struct service *s = context;
	CLEANUP(json_freep) json_t *all = actor_coverage_json(s->act);
	struct store_range range;
	struct store_page page;

	if (!routes_range_of(call, CURSOR_NUMBER, &range))
		return;
	page = cut_page(all, &range);
	reply_page(call, &page);
}

void get_policy(void *context, struct call *call)
{
	struct service *s = context;
	int mode = MIN((int)s->settings->mode, s->rules.policy.mode);
	int jobs = policy_jobs_mode(&s->rules.policy.jobs, mode);

	call_reply(call, 200,
		   json_pack("{s:s, s:s, s:s, s:s, s:s, s:O?}", "mode", policy_mode_names[mode],
			     "mode_of_option", policy_mode_names[s->settings->mode],
			     "mode_of_policy", policy_mode_names[s->rules.policy.mode],
			     "mode_of_jobs", policy_mode_names[jobs], "version", s->rules.version,
			     "policy", s->rules.document));
}

void get_evidence(void *context, struct call *call)
{
	struct service *s = context;
	json_t *bundle = NULL;
	struct err err = ERR_INIT;
	int r = actor_evidence(s->act, call_segment(call), &bundle, &err);

	if (r < 0)
		refuse_store(call, r, &err);
	else
		call_reply(call, 200, bundle);
}
