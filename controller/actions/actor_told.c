/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/actor_told.h"

#include "controller/actions/actor.h"
#include "controller/actions/actor_env.h"
#include "controller/actions/node_views.h"
#include "controller/actions/reservation.h"

struct telling {
	void (*each)(void *context, const struct actor_told_cordon *cordon);
	void *context;
};

static void tell_one(void *context, struct node_view *view)
{
	const struct telling *t = context;
	const struct cluster_mark *mark = view->c.mark;

	if (!view->there || !mark)
		return;
	t->each(t->context, &(struct actor_told_cordon){
				    .node = view->name,
				    .by = mark->by,
				    .reason = mark->reason,
				    .at_us = mark->at_us,
				    .sticky = mark->sticky,
			    });
}

void actor_told_cordons(const struct actor *actor,
			void (*each)(void *context, const struct actor_told_cordon *cordon),
			void *context)
{
	struct telling telling = { each, context };

	node_views_each(actor_env(actor)->views, tell_one, &telling);
}

const struct breaker *actor_told_breaker(const struct actor *actor)
{
	return &actor_env(actor)->places->ledger.breaker;
}
