/* SPDX-License-Identifier: Apache-2.0 */
/* What was done, and what may be done now: actions, breaker, policy, the life of a host. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/action.h"
#include "controller/api.h"
#include "controller/routes.h"
#include "controller/service.h"
#include "controller/store.h"
#include "controller/store_actions.h"
#include "lib/duration.h"
#include "lib/err.h"
#include "lib/json.h"
#include "lib/xalloc.h"

/* Actions that stand in the why of a host. */
enum { WHY_ACTIONS = 5 };

void get_actions(void *context, struct call *call)
{
	struct service *s = context;
	struct store_range range;
	struct store_page page = { 0 };
	struct err err = ERR_INIT;
	int r;

	if (!range_of(call, CURSOR_NUMBER, &range))
		return;
	r = store_actions(s->store, call_argument(call, "node"), &range, &page, &err);
	if (r < 0)
		refuse_store(call, r, &err);
	else
		reply_page(call, &page);
}

/* A stamp for the number that the breaker is kept with; null for none. */
static json_t *stamp_at(const json_t *object, const char *key)
{
	json_int_t us = json_integer_value(json_object_get(object, key));
	char text[CLOCK_STAMP_SIZE];

	if (us <= 0)
		return json_null();
	clock_stamp((uint64_t)us, text);
	return json_string(text);
}

void get_breaker(void *context, struct call *call)
{
	struct service *s = context;
	CLEANUP(json_freep) json_t *kept = act_breaker_json(s->act);

	/* Of a breaker that never opened the ledger holds the first of all causes, for nothing. */
	if (json_integer_value(json_object_get(kept, "opened_us")) == 0)
		(void)json_object_set_new(kept, "cause", json_null());
	call_reply(
		call, 200,
		json_pack("{s:O?, s:O?, s:O?, s:o, s:o, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?}",
			  "open", json_object_get(kept, "open"), "cause",
			  json_object_get(kept, "cause"), "reason",
			  json_object_get(kept, "sentence"), "opened", stamp_at(kept, "opened_us"),
			  "reset", stamp_at(kept, "reset_us"), "reset_by",
			  json_object_get(kept, "reset_by"), "mode", json_object_get(kept, "mode"),
			  "epoch", json_object_get(kept, "epoch"), "fenced",
			  json_object_get(kept, "fenced"), "stale", json_object_get(kept, "stale"),
			  "stopped", json_object_get(kept, "stopped"), "budget",
			  json_object_get(kept, "budget")));
}

void get_coverage(void *context, struct call *call)
{
	struct service *s = context;
	CLEANUP(json_freep) json_t *all = act_coverage_json(s->act);
	struct store_range range;
	struct store_page page;

	if (!range_of(call, CURSOR_NUMBER, &range))
		return;
	page = cut_page(all, &range);
	reply_page(call, &page);
}

void get_policy(void *context, struct call *call)
{
	struct service *s = context;
	int mode = MIN((int)s->settings->mode, s->rules.policy.mode);

	call_reply(call, 200,
		   json_pack("{s:s, s:s, s:s, s:s, s:O?}", "mode", policy_mode_names[mode],
			     "mode_of_option", policy_mode_names[s->settings->mode],
			     "mode_of_policy", policy_mode_names[s->rules.policy.mode], "version",
			     s->rules.version, "policy", s->rules.document));
}

void get_evidence(void *context, struct call *call)
{
	struct service *s = context;
	json_t *bundle = NULL;
	struct err err = ERR_INIT;
	int r = act_evidence(s->act, call_segment(call), &bundle, &err);

	if (r < 0)
		refuse_store(call, r, &err);
	else
		call_reply(call, 200, bundle);
}

/* --- the life of a host --- */

/* How a release is come by, from each state that keeps a host out of service. */
enum way { WAY_HEALTHY, WAY_REPAIR, WAY_PASSES, WAY_PERSON };

static const struct {
	const char *state;
	enum way way;
} ways[] = {
	{ "cordoned", WAY_HEALTHY }, { "drained", WAY_HEALTHY }, { "in-repair", WAY_REPAIR },
	{ "verifying", WAY_PASSES }, { "sticky", WAY_PERSON },
};

static char *way_words(const struct policy *p, enum way way)
{
	char delay[CLOCK_DURATION_SIZE], window[CLOCK_DURATION_SIZE];
	CLEANUP(freep)
	char *passes = xasprintf("%" PRIu64 " active test%s passed in a row", p->release_passes,
				 p->release_passes == 1 ? "" : "s");

	duration_format(p->release_delay_us, delay);
	duration_format(p->sticky_window_us, window);
	switch (way) {
	case WAY_HEALTHY:
		return xasprintf("%s without a finding, then %s; nothing has to be typed", delay,
				 passes);
	case WAY_REPAIR:
		return xasprintf("`assayctl repair-done`, then %s", passes);
	case WAY_PASSES:
		return TAKE(passes);
	case WAY_PERSON:
		break;
	}
	return xasprintf("a person only: it was cordoned %" PRIu64
			 " times within %s; `assayctl repair-done`, then %s",
			 p->sticky_after, window, passes);
}

/* What ends it by itself, or who must. */
static void add_releases(const struct policy *p, json_t *life)
{
	const char *state = json_string_value(json_object_get(life, "state"));
	CLEANUP(freep) char *words = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ways) && !streq(ways[i].state, state); i++)
		;
	if (i == ARRAY_SIZE(ways))
		return;
	if (json_is_true(json_object_get(life, "manual")) && ways[i].way == WAY_HEALTHY)
		words = xstrdup("a person only, who cordoned it: `assayctl uncordon`, or "
				"`assayctl repair-done` to have it tested first");
	else
		words = way_words(p, ways[i].way);
	(void)json_object_set_new(life, "releases", json_string(words));
}

int add_life(struct service *s, const char *name, json_t *node, struct err *err)
{
	struct store_range range = { NULL, WHY_ACTIONS };
	struct store_page page = { 0 };
	json_t *life = act_node_json(s->act, name);
	int r = store_actions(s->store, name, &range, &page, err);

	if (life)
		add_releases(&s->rules.policy, life);
	(void)json_object_set_new(node, "life", life ? life : json_null());
	if (r < 0)
		return r;
	(void)json_object_set_new(node, "actions", TAKE(page.items));
	free(page.next);
	return 0;
}
