/* SPDX-License-Identifier: Apache-2.0 */
/* Current silences and overrides: until when, by whom and why. */
#include <stdlib.h>

#include "controller/actions/actor_views.h"
#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/routes/routes.h"
#include "controller/store/store.h"
#include "controller/store/store_actions.h"
#include "lib/base/err.h"
#include "lib/json/json.h"
#include "lib/policy/life.h"

static void list(struct service *s, struct call *call, bool silences)
{
	const char *const asked = life_event_names[silences ? EVENT_SILENCE : EVENT_OVERRIDE];
	/* A host returned by a person also stays in service. */
	const char *const events[3] = {
		asked,
		silences ? asked : life_event_names[EVENT_UNCORDONED],
		silences ? asked : life_event_names[EVENT_RELEASED],
	};
	CLEANUP(json_freep) json_t *all = actor_orders_json(s->act, silences);
	struct store_range range;
	struct store_page page;
	struct err err = ERR_INIT;
	json_t *item;
	size_t i;
	int r = 0;

	if (!routes_range_of(call, CURSOR_NUMBER, &range))
		return;
	page = cut_page(all, &range);
	json_array_foreach(page.items, i, item)
	{
		const char *node = json_string_value(json_object_get(item, "node"));

		if (r == 0)
			r = store_add_order(s->store, node, events, item, &err);
	}
	if (r == 0) {
		reply_page(call, &page);
		return;
	}
	json_decref(page.items);
	free(page.next);
	refuse_store(call, r, &err);
}

void routes_silences(void *context, struct call *call)
{
	list(context, call, true);
}

void routes_overrides(void *context, struct call *call)
{
	list(context, call, false);
}
