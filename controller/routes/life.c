/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/routes/life.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/actor_views.h"
#include "controller/controller.h"
#include "controller/store/store.h"
#include "controller/store/store_actions.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"

/* Actions shown in the why of a host. */
enum { WHY_ACTIONS = 5 };

/* How a host returns to service, for each state that keeps it out. */
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
		return xasprintf("%s without a finding, then %s; no command is needed", delay,
				 passes);
	case WAY_REPAIR:
		return xasprintf("`assayctl repair-done`, then %s", passes);
	case WAY_PASSES:
		return TAKE(passes);
	case WAY_PERSON:
		break;
	}
	return xasprintf("only an operator: it was cordoned %" PRIu64
			 " times within %s; `assayctl repair-done`, then %s",
			 p->sticky_after, window, passes);
}

/* What ends the state automatically, or who has to. */
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
		words = xstrdup("only an operator, because a person cordoned it: `assayctl "
				"uncordon`, or "
				"`assayctl repair-done` to have it tested first");
	else
		words = way_words(p, ways[i].way);
	(void)json_object_set_new(life, "releases", json_string(words));
}

int life_add(struct service *s, const char *name, json_t *node, struct err *err)
{
	struct store_range range = { NULL, WHY_ACTIONS };
	struct store_page page = { 0 };
	json_t *life = actor_node_json(s->act, name);
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
